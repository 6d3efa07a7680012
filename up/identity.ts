import { readFileSync } from 'node:fs';

import { type Clock, sleep } from '../pkg/clock/index.js';

/**
 * Which process is meant, for as long as the machine runs.
 *
 * An id alone is used again after its process has ended. Together with the moment the process started, and the boot
 * that moment is counted from, it never is: so nothing is ever signalled that we did not start.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to the start of the process. */
  readonly started: string;
  readonly boot: string;
}

/** Who has this id now; nothing when nobody has, or when only an unburied corpse does. */
export function identify(pid: number): ProcessIdentity | undefined {
  const line = read(`/proc/${pid}/stat`);
  if (line === undefined) return undefined;
  // The second field is the program's name in brackets and may itself hold spaces and brackets.
  const [state, ...fields] = line.slice(line.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return undefined;
  return { pid, started: fields[18] ?? '', boot: (read('/proc/sys/kernel/random/boot_id') ?? '').trim() };
}

/** Whether this very process still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = identify(identity.pid);
  return now?.started === identity.started && now.boot === identity.boot;
}

export interface EndOptions {
  readonly clock: Clock;
  /** Time between asking and insisting. */
  readonly graceMs: number;
}

/** Asks a process to end, insists when it does not, and answers when it is gone. */
export async function end(identity: ProcessIdentity, { clock, graceMs }: EndOptions): Promise<void> {
  signal(identity, 'SIGTERM');
  if (await goneWithin(identity, clock, graceMs)) return;
  signal(identity, 'SIGKILL');
  await goneWithin(identity, clock, 10_000);
}

function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(identity.pid, name);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}

async function goneWithin(identity: ProcessIdentity, clock: Clock, ms: number): Promise<boolean> {
  const deadline = clock.monotonic() + ms;
  while (isAlive(identity)) {
    if (clock.monotonic() > deadline) return false;
    await sleep(clock, 50);
  }
  return true;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // ended between two looks
  }
}
