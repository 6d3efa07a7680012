import type { Clock } from '../../clock/index.js';
import type { Logger } from '../../log/index.js';
import { StoreUnavailableFault } from '../faults.js';
import type { Happening, Revision } from '../store.js';
import { rangeBelow } from './key-range.js';
import { watchOnce } from './watch-stream.js';
import type { Wire } from './wire.js';

export interface HistoryOptions {
  readonly wire: Wire;
  readonly clock: Clock;
  readonly log: Logger;
  readonly root: string;
  readonly clusterId: () => Promise<string>;
  readonly withinMs: number;
}

/**
 * All that happened below the root after one revision, up to and with another one. Something must have happened below
 * the root at that other one, because its arrival is what ends the reading.
 */
export async function readHistory(
  options: HistoryOptions,
  after: Revision,
  until: Revision,
): Promise<readonly Happening[]> {
  const { clock, root, withinMs } = options;
  const told: Happening[] = [];
  const stop = new AbortController();
  const cancel = clock.after(withinMs, () => stop.abort());
  let complete = false;
  await watchOnce(
    options,
    {
      range: rangeBelow(root),
      stem: root,
      from: after + 1,
      clusterId: await options.clusterId(),
      livenessMs: withinMs,
    },
    {
      created: () => undefined,
      happened: happenings => {
        const revision = happenings[0]!.revision;
        if (revision <= until) told.push(...happenings);
        if (revision < until) return;
        complete = true;
        stop.abort();
      },
    },
    stop.signal,
  );
  cancel();
  if (!complete) throw new StoreUnavailableFault('the history of the store could not be read');
  return told;
}
