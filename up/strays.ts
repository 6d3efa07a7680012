import { readdirSync, readFileSync } from 'node:fs';

import { identify, type ProcessIdentity } from './identity.js';

/** Every process of the all-in-one carries this variable, with the folder it belongs to. */
export const MARK = 'MOORING_PART_OF';

/**
 * Processes that carry the mark of this folder and are not among `known`, nor below one of them.
 *
 * They exist when a supervisor was killed between starting a process and recording it. Containers' shims also
 * inherit the mark; they belong to the engine and are left alone.
 */
export function strays(folder: string, known: readonly ProcessIdentity[]): readonly ProcessIdentity[] {
  const familiar = new Set([process.pid, ...known.map(({ pid }) => pid)]);
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => isMarked(pid, folder) && !descends(pid, familiar) && !isShim(pid))
    .flatMap(pid => identify(pid) ?? []);
}

function isMarked(pid: number, folder: string): boolean {
  return read(`/proc/${pid}/environ`).split('\0').includes(`${MARK}=${folder}`);
}

function isShim(pid: number): boolean {
  return read(`/proc/${pid}/comm`).startsWith('containerd-shim');
}

function descends(pid: number, from: ReadonlySet<number>): boolean {
  for (let at = pid; at > 1; at = parentOf(at)) if (from.has(at)) return true;
  return false;
}

function parentOf(pid: number): number {
  const line = read(`/proc/${pid}/stat`);
  return Number(line.slice(line.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // ended meanwhile, or somebody else's
  }
}
