import { readdirSync, readFileSync } from 'node:fs';

/** The ids of all processes of this machine. */
export function listPids(): readonly number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number);
}

/** The fields of `/proc/<pid>/stat` from the state on. Empty when there is no such process. */
export function readStat(pid: number): readonly string[] {
  const line = readProc(`${pid}/stat`);
  // Before them is the program's name in brackets, which may contain spaces and brackets.
  return line === '' ? [] : line.slice(line.lastIndexOf(')') + 2).split(' ');
}

/** What a file of `/proc` says. Empty when the process has ended meanwhile, or belongs to another user. */
export function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}
