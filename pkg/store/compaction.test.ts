import { expect } from 'chai';
import sinon from 'sinon';

import { keys } from '../../crds/keys/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { type CompactionMark, compactPeriodically } from './compaction.js';
import { create, value } from './documents.js';
import { StoreUnavailableFault } from './faults.js';
import { MemoryStore } from './memory-store.js';
import type { Revision } from './entry.js';

const EVERY_MS = 300_000;

describe('compaction of the store', () => {
  let clock: ManualClock;
  let store: MemoryStore;
  let compacted: Revision[];
  let stop: AbortController;

  beforeEach(() => {
    clock = new ManualClock();
    store = new MemoryStore({ clock });
    compacted = [];
    stop = new AbortController();
  });
  afterEach(() => stop.abort());

  /** One process that compacts. */
  function run(compact: (revision: Revision) => Promise<void> = async revision => void compacted.push(revision)): void {
    const compactable = new Proxy(store, {
      get: (target, name) => {
        if (name === 'compact') return compact;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    }) as MemoryStore & { compact(revision: Revision): Promise<void> };
    void compactPeriodically({ store: compactable, clock, log: silentLogger, everyMs: EVERY_MS }, stop.signal);
  }

  it('keeps at least one interval of history', async () => {
    run();
    await clock.pass(EVERY_MS + 1); // the first mark
    const marked = await store.revision();
    await create(store, 'later', {});
    expect(compacted).to.deep.equal([]);
    await clock.pass(EVERY_MS);
    expect(compacted).to.have.length(1);
    expect(compacted[0]).to.be.at.most(marked);
  });

  it('records what it compacted to, so that a reader knows how much history is kept', async () => {
    run();
    await clock.pass(3 * EVERY_MS);
    const { compacted: recorded, revision } = value<CompactionMark>((await store.get(keys.compaction()))!);
    expect(recorded).to.equal(compacted.at(-1)).and.to.be.lessThan(revision);
  });

  it('is done although the store is too full to take the next mark', async () => {
    run();
    await clock.pass(EVERY_MS + 1);
    sinon.stub(store, 'commit').rejects(new StoreUnavailableFault('etcd is full'));
    await clock.pass(EVERY_MS);
    expect(compacted).to.have.length(1);
  });

  it('is never done with an interval of 0', async () => {
    await compactPeriodically({ store: store as never, clock, log: silentLogger, everyMs: 0 }, stop.signal);
    expect(await store.get(keys.compaction())).to.equal(undefined);
  });

  it('is done by one of several processes', async () => {
    run();
    run();
    run();
    await clock.pass(4 * EVERY_MS);
    expect(new Set(compacted).size).to.equal(compacted.length);
    expect(compacted.length).to.be.within(2, 4);
    expect(compacted).to.deep.equal(compacted.toSorted((a, b) => a - b));
  });

  it('goes on after a failure', async () => {
    let failures = 0;
    run(async revision => {
      if (failures++ === 0) throw new Error('no leader');
      compacted.push(revision);
    });
    await clock.pass(5 * EVERY_MS);
    expect(failures).to.be.greaterThan(1);
    expect(compacted).to.not.deep.equal([]);
  });
});
