import { sleep, systemClock, systemRandom } from '../../pkg/clock/index.js';
import { listPids, readStat } from '../../up/machine/process-stat.js';

/** How long processes run at most before they are stalled again. */
const RUNNING_MS = 3_000;

/** Has every process of our group but ourselves stand still for `ms` now and then, as on a machine that others use. Answers what ends it. */
export function stall(ms: number): () => void {
  const ended = new AbortController();
  if (ms > 0) void repeat(ms, ended.signal);
  return () => ended.abort();
}

async function repeat(ms: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(systemClock, systemRandom.next() * RUNNING_MS, signal);
    const stalled = listRunning();
    for (const pid of stalled) send(pid, 'SIGSTOP');
    await sleep(systemClock, ms, signal);
    for (const pid of stalled) send(pid, 'SIGCONT');
  }
}

/** One that a test has stopped must not go on because of us. */
function listRunning(): readonly number[] {
  const [, , own = ''] = readStat(process.pid);
  return listPids().filter(pid => {
    const [state, , group = ''] = readStat(pid);
    return pid !== process.pid && group === own && state !== 'T';
  });
}

/** Signals a process, if it is still there. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}
