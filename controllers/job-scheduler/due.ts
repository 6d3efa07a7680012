import type { Ticks } from '../../crds/job/index.js';
import type { Reason } from '../../crds/reasons/index.js';

/** Missed ticks that are counted one by one; of more it is only said that there are more. */
const COUNTED_MAX = 100;

/** Ticks without a run. */
export interface SkippedTicks {
  readonly count: number;
  /** The last of them. */
  readonly at: string;
  readonly reason: Reason;
  readonly message: string;
}

/** What came due since ticks were last settled. */
export interface DueTicks {
  /** The tick to run. */
  readonly run: number | undefined;
  /** The last tick that came due, run or not. */
  readonly last: number | undefined;
  readonly missed: readonly SkippedTicks[];
}

/** Of the ticks after `settled`, the last one is run unless it is too old; the others are missed. A clock that was set back finds none. */
export function findDue(ticks: Ticks, settled: number, now: number, deadlineMs: number): DueTicks {
  const last = ticks.findLast(now);
  if (last === undefined || last <= settled) return { run: undefined, last: undefined, missed: [] };
  const run = now - last <= deadlineMs ? last : undefined;
  const earlier = listEarlier(ticks, settled, last);
  const missed = [...earlier, ...(run === undefined ? [last] : [])];
  const lastMissed = missed.at(-1);
  if (lastMissed === undefined) return { run, last, missed: [] };
  const count = missed.length;
  const at = new Date(lastMissed).toISOString();
  const amount = `${earlier.length === COUNTED_MAX ? 'At least ' : ''}${count} tick${count === 1 ? '' : 's'}`;
  const message = `${amount} until ${at} had no run: the controllers did not run, or could not make one in time.`;
  return { run, last, missed: [{ count, at, reason: 'runs_missed', message }] };
}

/** The ticks between two times, both left out; the first ones of them and the last one where they are many. */
function listEarlier(ticks: Ticks, settled: number, last: number): readonly number[] {
  const found: number[] = [];
  let tick = ticks.findNext(settled);
  while (tick !== undefined && tick < last && found.length < COUNTED_MAX) {
    found.push(tick);
    tick = ticks.findNext(tick);
  }
  const final = found.length === COUNTED_MAX ? ticks.findLast(last - 1) : undefined;
  return final === undefined ? found : [...found.slice(0, -1), final];
}
