import { ranges } from '../../crds/keys/index.js';
import type { Report } from '../../crds/report/index.js';
import { AgreedClock } from '../../pkg/clock/agreed-clock.js';
import { withWallClock } from '../../pkg/clock/manual-clock.testing.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import { encode, type Put, type Store } from '../../pkg/store/index.js';
import { instead, type Mutant } from './mutants.js';
import type { Variant } from './variant.js';

/** What a loop reads is the wall clock of its own process. */
const trustsItself = (loop: Loop): Loop => ({
  ...loop,
  reconcile: (key, env, signal) => {
    const { clock } = env;
    const own = clock instanceof AgreedClock ? withWallClock(clock, () => clock.read().wall) : clock;
    return loop.reconcile(key, { ...env, clock: own }, signal);
  },
});

/** What agents tell is stored as it is told. */
function believesNodes(): Variant {
  const told = new Map<string, string>();
  const name = ({ replica, state, restarts }: Report) => `${replica} ${state} ${restarts}`;
  const toTold = (put: Put): Put => {
    if (!put.key.startsWith(ranges.reports)) return put;
    const report = JSON.parse(put.bytes.toString()) as Report;
    return { ...put, bytes: encode({ ...report, since: told.get(name(report)) ?? report.since }) };
  };
  return {
    link: link =>
      instead(link, 'report', batch => {
        for (const report of batch.reports) if (report.since !== undefined) told.set(name(report), report.since);
        return link.report(batch);
      }),
    apiStore: (store: Store) =>
      instead(store, 'commit', change => store.commit({ ...change, puts: change.puts.map(toTold) })),
  };
}

/** Mistakes about time that must not go unnoticed. */
export const clockMutants: readonly Mutant[] = [
  {
    mistake: 'a leader trusts its own wall clock alone',
    loops: loops => loops.map(trustsItself),
  },
  { mistake: 'a time that a node tells is taken as it is', ...believesNodes() },
];
