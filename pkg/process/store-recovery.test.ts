import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { seededRandom } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { createMetrics } from '../metrics/index.js';
import { value } from '../store/index.js';
import { FullStore, MB, QUOTA } from './recoverable-store.testing.js';
import { StoreRecovery } from './store-recovery.js';
import { judgeRoom } from './store-room.js';

const LONG_MS = 3_600_000;
/** Time for a turn that nobody renews to end, and for two rounds. */
const ROUND_MS = 900_000;

describe('recovery of a full store', () => {
  let clock: ManualClock;
  const stops: AbortController[] = [];
  const stores: FullStore[] = [];
  let processes = 0;

  beforeEach(() => {
    clock = new ManualClock();
  });
  afterEach(() => {
    expect(Math.max(...stores.splice(0).map(({ mostBlocked }) => mostBlocked)), 'defragmented at a time').to.be.below(
      2,
    );
    for (const stop of stops.splice(0)) stop.abort();
  });

  function open(names: readonly string[], alarms: readonly string[] = []): FullStore {
    const store = new FullStore(clock, names, alarms);
    stores.push(store);
    return store;
  }

  /** A process of the control plane. Aborting what it gives kills it. */
  function start(store: FullStore): AbortController {
    const kill = new AbortController();
    stops.push(kill);
    const metrics = createMetrics({ processMetrics: false });
    let isReserved = false;
    const report = () => {
      ({ isReserved } = judgeRoom(store.health(), QUOTA, isReserved));
      return { ...store.health(), isReserved };
    };
    const random = seededRandom(++processes);
    const env = { clock, random, log: silentLogger, metrics, quotaBytes: QUOTA, report };
    void new StoreRecovery({ ...env, store: store.open(kill.signal) }).run(kill.signal);
    return kill;
  }

  const recovered = { databaseBytes: 125 * MB, usedBytes: 125 * MB };

  it('forgets history, defragments one member after the other, the leader last, and takes NOSPACE back', async () => {
    const store = open(['a', 'b', 'c'], ['NOSPACE']);
    start(store);
    await clock.pass(LONG_MS);
    expect(store.steps).to.deep.equal([
      ...store.steps.slice(0, -4),
      'defragment b',
      'defragment c',
      'defragment a',
      'disarm',
    ]);
    expect(new Set(store.steps.slice(0, -4))).to.deep.equal(new Set(['compact']));
    expect(store.health()).to.deep.equal({ ...recovered, alarms: [] });
  });

  it('leaves every other alarm to an administrator', async () => {
    const store = open(['a'], ['NOSPACE', 'CORRUPT']);
    start(store);
    await clock.pass(LONG_MS);
    expect(store.health()).to.deep.equal({ ...recovered, alarms: ['CORRUPT'] });
  });

  it('waits for a member that has not caught up before it goes on with the next', async () => {
    const store = open(['a', 'b', 'c']);
    store.members[1]!.isReady = false;
    start(store);
    await clock.pass(LONG_MS);
    expect(store.steps.filter(step => step !== 'compact')).to.deep.equal([]);
    store.members[1]!.isReady = true;
    await clock.pass(LONG_MS);
    expect(store.health()).to.deep.equal({ ...recovered, alarms: [] });
  });

  it('is done by one of several processes', async () => {
    const store = open(['a', 'b', 'c'], ['NOSPACE']);
    for (let n = 0; n < 3; n++) start(store);
    await clock.pass(LONG_MS);
    expect(store.health()).to.deep.equal({ ...recovered, alarms: [] });
    expect(store.actors.size).to.equal(1);
    expect(store.steps.filter(step => step.startsWith('defragment'))).to.have.length(3);
  });

  it('is ended by another process when the one that does it is killed, at whatever call', async () => {
    for (let nth = 1; ; nth++) {
      const store = open(['a', 'b', 'c'], ['NOSPACE']);
      let calls = 0;
      const first = start(store);
      store.onCall = (_, own) => void (own === first.signal && ++calls === nth && first.abort());
      await clock.pass(1); // it has the turn
      const second = start(store);
      await clock.pass(ROUND_MS);
      expect(store.health(), `killed at call ${nth}`).to.deep.equal({ ...recovered, alarms: [] });
      second.abort();
      if (!first.signal.aborted) break;
    }
  });

  it('comes later and later where it gains nothing, and soon where something was written', async () => {
    const store = open(['a'], ['NOSPACE']);
    const [member] = store.members;
    Object.assign(member!, { usedBytes: 257 * MB });
    const openStore = store.open.bind(store);
    store.open = signal => Object.assign(openStore(signal), { compact: async () => void store.steps.push('compact') });
    start(store);
    await clock.pass(LONG_MS);
    const rounds = store.steps.length;
    await clock.pass(LONG_MS);
    expect(store.steps.length - rounds).to.be.lessThan(8);
    expect(store.steps).not.to.include('disarm');
    const before = store.steps.length;
    member!.usedBytes -= 7 * MB;
    await clock.pass(10_000);
    expect(store.steps.slice(before)).to.include('compact');
  });

  it('does nothing while there is room, and nothing with a quota that is not known', async () => {
    const store = open(['a']);
    Object.assign(store.members[0]!, { databaseBytes: 200 * MB });
    start(store);
    await clock.pass(LONG_MS);
    expect(store.steps).to.deep.equal([]);
    expect(await store.open(new AbortController().signal).get(keys.recovery())).to.equal(undefined);
  });

  it('leaves the turn to others after each round', async () => {
    const store = open(['a'], ['NOSPACE']);
    start(store);
    await clock.pass(LONG_MS);
    const entry = await store.open(new AbortController().signal).get(keys.recovery());
    expect(value(entry!)).to.deep.equal({ holder: '', step: '' });
  });
});
