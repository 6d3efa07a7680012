import { type Clock, sleep } from '../../pkg/clock/index.js';
import { listPids, readProc, readStat } from './process-stat.js';

/**
 * The identity of a process.
 *
 * The operating system reuses the id of a process that has ended. Together with the start time, and the boot it is counted
 * from, the id is unique, so no process is signalled that was not started here.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to the start of the process. */
  readonly started: string;
  readonly boot: string;
}

/** The process that has this id now. Undefined when there is none, or only a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const fields = readStat(pid);
  if (fields[0] === undefined || fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return { pid, started: fields[19] ?? '', boot: readProc('sys/kernel/random/boot_id').trim() };
}

/** Whether this very process still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = identifyProcess(identity.pid);
  return now?.started === identity.started && now.boot === identity.boot;
}

/** Sends SIGTERM, then SIGKILL after the grace period. Resolves when the process is gone. */
export async function terminateProcess(
  identity: ProcessIdentity,
  { clock, graceMs }: { readonly clock: Clock; readonly graceMs: number },
): Promise<void> {
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

/** Every process of the all-in-one carries this variable, with the folder it belongs to. */
export const MARK_VARIABLE = 'MOORING_PART_OF';

/**
 * Processes that carry the mark of this folder and are not among `known`, nor below one of them.
 *
 * They exist when a supervisor was killed between starting a process and recording it. Containers' shims also
 * inherit the mark; they belong to the engine and are left alone.
 */
export function findStrays(folder: string, known: readonly ProcessIdentity[]): readonly ProcessIdentity[] {
  const ancestors = new Set([process.pid, ...known.map(({ pid }) => pid)]);
  return listPids()
    .filter(pid => isMarked(pid, folder) && !descends(pid, ancestors) && !isShim(pid))
    .flatMap(pid => identifyProcess(pid) ?? []);
}

function isMarked(pid: number, folder: string): boolean {
  return readProc(`${pid}/environ`).split('\0').includes(`${MARK_VARIABLE}=${folder}`);
}

function isShim(pid: number): boolean {
  return readProc(`${pid}/comm`).startsWith('containerd-shim');
}

function descends(pid: number, from: ReadonlySet<number>): boolean {
  for (let at = pid; at > 1; at = Number(readStat(at)[1] ?? 0)) if (from.has(at)) return true;
  return false;
}
