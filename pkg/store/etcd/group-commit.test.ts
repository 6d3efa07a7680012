import { expect } from 'chai';
import fc from 'fast-check';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { isGuardMet } from '../change.js';
import { LeaseGoneFault, StoreRefusedFault, StoreUnavailableFault } from '../faults.js';
import { Entry } from '../entry.js';
import type { Guard, Verdict } from '../store.js';
import { type BatchAdmission, GroupCommit, type GroupCommitOptions } from './group-commit.js';
import type { BatchResponse, EncodableChange } from './messages.js';

const KEYS = ['a', 'b', 'c', 'd'];

/** Judges the guards of a whole batch on the state before it, as etcd does. */
class ModelEtcd {
  readonly state = new Map<string, Entry>();
  readonly applied: EncodableChange[] = [];
  revision = 1;

  apply(batch: readonly EncodableChange[]): BatchResponse {
    const written = batch.flatMap(({ puts, deletes }) => [...puts.map(({ key }) => key), ...deletes]);
    if (new Set(written).size < written.length) throw new StoreRefusedFault('duplicate key');
    const verdicts = batch.map(({ guards }) => guards.every(guard => isGuardMet(guard, this.state.get(guard.key))));
    const stored = batch.filter((_, n) => verdicts[n]);
    if (stored.length > 0) this.revision++;
    for (const change of stored) this.#write(change);
    this.applied.push(...batch);
    return { revision: this.revision, open: true, verdicts };
  }

  #write({ puts, deletes }: EncodableChange): void {
    for (const { key, bytes } of puts) {
      const created = this.state.get(key)?.created ?? this.revision;
      this.state.set(key, new Entry(key, bytes, this.revision, created));
    }
    for (const key of deletes) this.state.delete(key);
  }
}

/** Only guards that do not name a revision: those of a batch and of single changes are numbered differently. */
const guard: fc.Arbitrary<Guard> = fc.oneof(
  fc.record({ key: fc.constantFrom(...KEYS), at: fc.constant(0) }),
  fc.record({ key: fc.constantFrom(...KEYS), exists: fc.constant<true>(true) }),
);
const change: fc.Arbitrary<EncodableChange> = fc
  .record({
    guards: fc.array(guard, { maxLength: 2 }),
    keys: fc.uniqueArray(fc.constantFrom(...KEYS), { maxLength: 2 }),
    puts: fc.boolean(),
  })
  .map(({ guards, keys, puts }) => ({
    guards,
    puts: puts ? keys.map(key => ({ key, bytes: Buffer.from(key) })) : [],
    deletes: puts ? [] : keys,
    size: 10,
  }));

const history = fc.array(fc.record({ change, sendDelay: fc.nat(3), turn: fc.nat(2) }), { minLength: 2, maxLength: 12 });
const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise(resolve => void setImmediate(resolve));
};

/** Runs changes through a writer, then one by one in the order they were applied: both must say the same. */
async function agreesWithSerial(
  given: readonly { change: EncodableChange; sendDelay: number; turn: number }[],
  admission?: () => BatchAdmission,
): Promise<boolean> {
  const etcd = new ModelEtcd();
  const delays = given.map(({ sendDelay }) => sendDelay);
  let sends = 0;
  const group = new GroupCommit({
    send: async batch => {
      await turns(delays[sends++ % delays.length]!);
      const answer = etcd.apply(batch);
      await turns(1);
      return answer;
    },
    ...(admission ? { admission } : {}),
  });
  const verdicts = new Map<EncodableChange, Verdict>();
  await Promise.all(
    given.map(async ({ change: one, turn }) => {
      await turns(turn);
      verdicts.set(one, await group.commit(one));
    }),
  );

  const serial = new ModelEtcd();
  const same = etcd.applied.every(one => {
    const { verdicts: alone } = serial.apply([one]);
    return alone[0] === verdicts.get(one)?.stored;
  });
  return same && [...etcd.state.keys()].sort().join() === [...serial.state.keys()].sort().join();
}

const create = (key: string, size = 10): EncodableChange => ({
  guards: [{ key, at: 0 }],
  puts: [{ key, bytes: Buffer.alloc(0) }],
  deletes: [],
  size,
});

/** A writer whose batches stay under way until they are let go. */
function held(options: Partial<GroupCommitOptions> = {}) {
  const flights: { batch: readonly EncodableChange[]; land: () => void; fail: (fault: Error) => void }[] = [];
  const etcd = new ModelEtcd();
  const group = new GroupCommit({
    send: batch =>
      new Promise((resolve, reject) => {
        flights.push({ batch, land: () => resolve(etcd.apply(batch)), fail: reject });
      }),
    ...options,
  });
  return { group, flights };
}

describe('group commit', () => {
  it('gives the verdicts that the changes would get one after the other', async () => {
    await fc.assert(
      fc.asyncProperty(history, given => agreesWithSerial(given)),
      { numRuns: 300 },
    );
  });

  it('gives other verdicts when conflicting changes share a batch', async () => {
    const careless = () => ({ fits: () => true, note: () => undefined });
    const found = await fc.check(
      fc.asyncProperty(history, given => agreesWithSerial(given, careless)),
      { numRuns: 300 },
    );
    expect(found.failed).to.equal(true);
  });

  it('sends concurrent changes in one batch, and at most two batches at a time', async () => {
    const { group, flights } = held();
    const first = ['a', 'b'].map(key => group.commit(create(key)));
    await turns(1);
    const second = group.commit(create('c'));
    await turns(1);
    const third = group.commit(create('d'));
    await turns(1);
    expect(flights.map(({ batch }) => batch.length)).to.deep.equal([2, 1]);

    flights[1]!.land();
    await second;
    await turns(1);
    expect(flights.map(({ batch }) => batch.length)).to.deep.equal([2, 1, 1]);
    flights[0]!.land();
    flights[2]!.land();
    await Promise.all([...first, third]);
  });

  it('sends a full batch at once, and the rest in a batch that is not too small', async () => {
    const { group, flights } = held();
    for (let n = 0; n < 16; n++) void group.commit(create(`a${n}`));
    expect(flights.map(({ batch }) => batch.length)).to.deep.equal([16]);
    for (let n = 0; n < 7; n++) void group.commit(create(`b${n}`));
    await turns(1);
    expect(flights.map(({ batch }) => batch.length)).to.deep.equal([16, 7]);
  });

  it('divides waiting changes among the batches that may be sent', async () => {
    const { group, flights } = held({ limits: { worthwhile: 4 } });
    const waits = create('a');
    for (const change of [waits, create('b'), create('c'), create('d')]) void group.commit(change);
    for (let n = 0; n < 20; n++) void group.commit({ ...create(`e${n}`), guards: [{ key: 'a', at: 0 }] });
    flights[0]!.land();
    await turns(1);
    expect(flights.map(({ batch }) => batch.length)).to.deep.equal([4, 10, 10]);
  });

  it('keeps the order of changes to one key, also behind one that waits', async () => {
    const { group, flights } = held();
    const verdicts = [create('a'), create('a'), create('b'), create('a')].map(one => group.commit(one));
    for (let n = 0; n < 3; n++) {
      await turns(1);
      flights[n]!.land();
    }
    expect((await Promise.all(verdicts)).map(({ stored }) => stored)).to.deep.equal([true, false, true, false]);
    expect(flights.map(({ batch }) => batch.map(({ puts }) => puts[0]!.key))).to.deep.equal([['a', 'b'], ['a'], ['a']]);
  });

  const limits: ReadonlyArray<{ name: string; changes: readonly EncodableChange[]; batch: number }> = [
    { name: '100 changes', changes: Array.from({ length: 150 }, (_, n) => create(`k${n}`)), batch: 100 },
    { name: '1 MB', changes: Array.from({ length: 20 }, (_, n) => create(`k${n}`, 100_000)), batch: 10 },
    {
      name: '128 operations, counted as etcd does',
      changes: Array.from({ length: 90 }, (_, n) => ({ ...create(`k${n}`), guards: guardsOn(n, 50) })),
      batch: 78,
    },
    { name: 'nothing else when one alone is too large', changes: [create('a', 2 << 20), create('b')], batch: 1 },
  ];
  for (const { name, changes, batch } of limits) {
    it(`puts into one batch no more than ${name}`, async () => {
      const { group, flights } = held({ limits: { flights: 1, worthwhile: 1_000 } });
      for (const one of changes) void group.commit(one);
      await turns(1);
      expect(flights[0]!.batch.length).to.equal(batch);
    });
  }

  it('fails a change that has waited too long, and never sends it', async () => {
    const clock = new ManualClock();
    const { group, flights } = held({ clock, waitAtMostMs: 5_000, limits: { flights: 1 } });
    const first = group.commit(create('a'));
    await turns(1);
    const second = group.commit(create('a')).catch((thrown: unknown) => thrown);
    await clock.pass(6_000);
    const third = group.commit(create('a'));
    flights[0]!.land();
    expect((await first).stored).to.equal(true);
    expect(await second).to.be.instanceOf(StoreUnavailableFault);
    await turns(1);
    flights[1]!.land();
    expect((await third).stored).to.equal(false);
    expect(flights).to.have.length(2);
  });

  it('sends a refused batch again one by one, so that only the faulty change fails', async () => {
    const etcd = new ModelEtcd();
    const batches: number[] = [];
    const group = new GroupCommit({
      send: async batch => {
        batches.push(batch.length);
        if (batch.some(({ puts }) => puts[0]!.lease === '7')) throw new LeaseGoneFault();
        return etcd.apply(batch);
      },
    });
    const guilty = { ...create('b'), puts: [{ key: 'b', bytes: Buffer.alloc(0), lease: '7' }] };
    const outcomes = await Promise.allSettled([create('a'), guilty, create('c')].map(one => group.commit(one)));
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(batches).to.deep.equal([3, 1, 1, 1]);
  });

  it('never sends a batch again whose outcome is not known', async () => {
    let sends = 0;
    const group = new GroupCommit({
      send: async () => {
        sends++;
        throw new StoreUnavailableFault('gone');
      },
    });
    await Promise.allSettled([create('a'), create('b')].map(one => group.commit(one)));
    expect(sends).to.equal(1);
  });
});

function guardsOn(number: number, count: number): Guard[] {
  return [{ key: `k${number}`, at: 0 }, ...Array.from({ length: count - 1 }, (_, n) => ({ key: `g${n}`, at: 0 }))];
}
