import { closeSync, openSync, readSync, statSync } from 'node:fs';

import { type Clock, sleep } from '../pkg/clock/index.js';
import { BrokenAnswerFault, UnreachableFault } from '../pkg/client/index.js';
import { PartFault } from './faults.js';
import { end, identify } from './identity.js';

const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 50;
const SHOWN_BYTES = 4_096;
const SHOWN_LINES = 5;

export interface Serving {
  readonly pid: number;
  readonly clock: Clock;
  readonly logFile: string;
  readonly serves: () => Promise<boolean>;
}

/** Waits until a process that was just started serves. One that ends, or never serves, is a fault with the end of its log. */
export async function untilServing({ pid, clock, logFile, serves }: Serving): Promise<void> {
  const identity = identify(pid);
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    if (await orFalse(serves)) return;
    if (!identity || identify(pid)?.started !== identity.started)
      throw new PartFault(`it ended at once${tailOf(logFile)}`);
    if (clock.monotonic() > deadline) {
      await end(identity, { clock, graceMs: 2_000 });
      throw new PartFault(`it did not serve within ${PATIENCE_MS / 1000} s${tailOf(logFile)}`);
    }
    await sleep(clock, LOOK_EVERY_MS);
  }
}

async function orFalse(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask();
  } catch (thrown) {
    // Health is told by a status, not by a rejection.
    if (thrown instanceof UnreachableFault || thrown instanceof BrokenAnswerFault) return false;
    throw thrown;
  }
}

/** The last lines of a log, for a person who is not going to open it. */
function tailOf(path: string): string {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const bytes = Buffer.alloc(Math.min(size, SHOWN_BYTES));
  if (bytes.length === 0) return '';
  const file = openSync(path, 'r');
  readSync(file, bytes, 0, bytes.length, size - bytes.length);
  closeSync(file);
  const lines = bytes.toString('utf8').trimEnd().split('\n').slice(-SHOWN_LINES);
  return `; the end of ${path}:\n${lines.map(line => `      ${line}`).join('\n')}`;
}
