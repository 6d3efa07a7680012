import { readFileSync } from 'node:fs';

/** Bytes of memory of a process that runs: what it has (`VmRSS`), or the most it ever had (`VmHWM`). */
export function readProcessMemory(pid: number | undefined, figure: 'VmRSS' | 'VmHWM'): number {
  const [, kibibytes] = new RegExp(`${figure}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}
