import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { type Clock, seededRandom } from '../clock/index.js';
import type { Store, Verdict } from '../store/index.js';
import { createMetrics } from '../metrics/index.js';
import { countEvents, type EventDraft, EventLeases, EventWriter } from './index.js';

const HOUR_MS = 3_600_000;
const draft: EventDraft = {
  type: 'deployment.created',
  tenant: '0b7f8d5e-0000-4000-8000-000000000001',
  subject: { kind: 'Deployment', name: 'web', id: 'dep_1' },
  reason: 'created',
  message: 'web was created',
};

function createWriter() {
  let now = 1_800_000_000_000;
  const clock: Clock = { now: () => now, monotonic: () => now, after: () => () => undefined };
  const granted: number[] = [];
  let failing = false;
  const grant = (ttlSeconds: number) => {
    if (failing) return Promise.reject(new Error('down'));
    granted.push(ttlSeconds);
    return Promise.resolve({ id: `lease-${granted.length}`, ttlSeconds });
  };
  const leases = new EventLeases({ grant } as unknown as Store, clock, 7);
  const writer = new EventWriter(leases, clock, seededRandom(1));
  return { writer, granted, pass: (ms: number) => (now += ms), fail: (down: boolean) => (failing = down) };
}

const read = (bytes: Buffer) => JSON.parse(bytes.toString()) as StoredEvent;

describe('event writer', () => {
  it('puts events under ids that sort by time', async () => {
    const { writer, pass } = createWriter();
    const first = await writer.put(draft);
    pass(1);
    const second = await writer.put(draft);
    expect(first.key < second.key).to.equal(true);
  });

  it('keeps the order of events of one millisecond, or of a clock that was set back', async () => {
    const { writer, pass } = createWriter();
    const put: string[] = [];
    for (let count = 0; count < 100; count++) put.push((await writer.put(draft)).key);
    pass(-1_000);
    put.push((await writer.put(draft)).key);
    pass(1_001);
    put.push((await writer.put(draft)).key);

    expect(put.toSorted()).to.deep.equal(put);
    expect(new Set(put).size).to.equal(put.length);
  });

  it('counts a repeated event up under the same key', async () => {
    const { writer, pass } = createWriter();
    const first = await writer.put(draft);
    pass(60_000);
    const repeated = await writer.again(read(first.bytes));

    expect(repeated.key).to.equal(first.key);
    expect(read(repeated.bytes).count).to.equal(2);
    expect(read(repeated.bytes).at).to.equal(read(first.bytes).at);
    expect(read(repeated.bytes).lastSeenAt).not.to.equal(read(first.bytes).lastSeenAt);
  });

  it('shares one lease among the events of an hour, which outlives the retention by an hour', async () => {
    const { writer, granted, pass } = createWriter();
    await writer.put(draft);
    pass(HOUR_MS - 1);
    expect((await writer.put(draft)).lease).to.equal('lease-1');
    pass(1);
    expect((await writer.put(draft)).lease).to.equal('lease-2');
    expect(granted).to.deep.equal([7 * 86_400 + 3_600, 7 * 86_400 + 3_600]);
  });

  it('requests a new lease after a failed grant', async () => {
    const { writer, fail } = createWriter();
    fail(true);
    const refused = await writer.put(draft).then(
      () => false,
      () => true,
    );
    fail(false);
    expect(refused).to.equal(true);
    expect((await writer.put(draft)).lease).to.equal('lease-1');
  });
});

describe('counted events', () => {
  it('are those that were stored, once each, by what they say', async () => {
    const { writer } = createWriter();
    const metrics = createMetrics({ processMetrics: false });
    const verdicts: (Verdict | Error)[] = [{ stored: false }, new Error('away'), { stored: true, revision: 1 }];
    const commit = () => {
      const next = verdicts.shift() ?? { stored: true, revision: 2 };
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    };
    const store = countEvents({ commit } as unknown as Store, metrics);
    const event = await writer.put(draft);
    const other = { key: 'events/t/x', bytes: Buffer.from('{"type":"deployment.deleted","reason":"deleted"}') };
    const change = { guards: [], puts: [other, event], deletes: [] };
    const count = async () => (await metrics.text()).match(/^mooring_events_total.*$/gm);
    expect(await store.commit(change)).to.deep.equal({ stored: false });
    await store.commit(change).catch(() => undefined);
    expect(await count()).to.equal(null);
    expect(await store.commit(change)).to.deep.equal({ stored: true, revision: 1 });
    await store.commit({ ...change, puts: [await writer.again(read(event.bytes))] });
    expect(await count()).to.deep.equal(['mooring_events_total{type="deployment.created",reason="created"} 2']);
  });
});
