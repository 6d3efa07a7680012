import { expect } from 'chai';
import sinon from 'sinon';

import { keys } from '../../crds/keys/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { type Compactable, type CompactionMark, compactPeriodically, compactToPresent } from './compaction.js';
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
        if (name === 'health') return async () => ({ databaseBytes: 0, usedBytes: 0, alarms: [] });
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    }) as MemoryStore & Compactable;
    const options = { store: compactable, clock, log: silentLogger, everyMs: EVERY_MS, quotaBytes: 1_000 };
    void compactPeriodically(options, stop.signal);
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
    const options = { store: store as never, clock, log: silentLogger, everyMs: 0, quotaBytes: 1_000 };
    await compactPeriodically(options, stop.signal);
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

describe('compaction near the quota', () => {
  /** What was compacted to, of a store whose file grows by what `grow` says of each step. */
  async function run(to: Revision, quotaBytes: number, grow: (step: number) => number = () => 0): Promise<number[]> {
    const steps: number[] = [];
    let at = 0;
    let databaseBytes = 800;
    const compact = async (revision: Revision) => {
      steps.push(revision - at);
      databaseBytes += grow(revision - at);
      at = revision;
    };
    const health = async () => ({ databaseBytes, usedBytes: 700, alarms: [] });
    const store = Object.assign(new MemoryStore({ clock: new ManualClock() }), {
      compact,
      health,
      revision: async () => to,
    });
    expect(await compactToPresent(store, 0, quotaBytes)).to.equal(to);
    return steps;
  }

  it('forgets everything at once while all that is kept could be written anew', async () => {
    expect(await run(1_000, 1_501)).to.deep.equal([1_000]);
    expect(await run(1_000, 0), 'an unknown quota').to.deep.equal([1_000]);
  });

  it('forgets a little at a time near the quota, up to the revision that was asked for', async () => {
    expect(await run(20, 1_500)).to.deep.equal([8, 8, 4]);
    const many = await run(64_000, 1_500);
    expect(many)
      .to.have.length(64)
      .and.to.satisfy((steps: number[]) => steps.every(step => step === 1_000));
    expect(Math.max(...(await run(1_000_000, 1_500)))).to.equal(1_024);
  });

  it('begins where history was forgotten to already', async () => {
    const compacted: Revision[] = [];
    const compact = async (revision: Revision) => void compacted.push(revision);
    const health = async () => ({ databaseBytes: 800, usedBytes: 700, alarms: [] });
    const store = Object.assign(new MemoryStore({ clock: new ManualClock() }), {
      compact,
      health,
      revision: async () => 100,
    });
    await create(store, keys.compaction(), { revision: 90, compacted: 80 } satisfies CompactionMark);
    await compactToPresent(store, 0, 1_500);
    await compactToPresent(store, 96, 1_500);
    expect(compacted).to.deep.equal([88, 96, 100, 100]);
  });

  it('forgets less at a time once the file grew, and more again when it did not', async () => {
    expect(await run(40, 1_500, step => (step === 8 ? 10 : 0))).to.deep.equal([8, 2, 4, 8, 2, 4, 8, 2, 2]);
  });
});
