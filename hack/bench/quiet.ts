import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const SAMPLE_MS = 400;
const BUSY_CORES = 0.3;
const PATIENCE_MS = 60_000;

/** Time that the cores have been at work and in all, in ticks since the machine started. */
function ticks(): { readonly busy: number; readonly all: number; readonly cores: number } {
  const lines = readFileSync('/proc/stat', 'utf8').split('\n');
  const figures = (lines[0] ?? '').trim().split(/\s+/).slice(1, 9).map(Number);
  const all = figures.reduce((sum, figure) => sum + figure, 0);
  const [, , , idle = 0, waiting = 0] = figures;
  return { busy: all - idle - waiting, all, cores: lines.filter(line => /^cpu\d/.test(line)).length };
}

/**
 * Waits until the machine has little else to do, and answers how many cores were still at work. A machine that does not
 * come to rest in time is measured all the same, and the answer says so.
 */
export async function untilQuiet(): Promise<number> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const before = ticks();
    await pause(SAMPLE_MS);
    const after = ticks();
    const busyCores = ((after.busy - before.busy) / (after.all - before.all)) * after.cores;
    if (busyCores < BUSY_CORES || Date.now() > end) return busyCores;
  }
}
