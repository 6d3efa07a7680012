import { expect } from 'chai';

import type { Replica } from '../../../crds/replica/index.js';
import { systemRandom } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { Tracer } from '../../trace/index.js';
import { RecordedSpans } from '../../trace/recorded-spans.testing.js';
import { StartSpans } from './start-spans.js';

const HOUR_MS = 3_600_000;
const START = new ManualClock().now();
const replica = {
  uid: 'r1',
  tenant: 't1',
  deployment: 'web',
  nodeId: 'node_1',
  createdAt: new Date(START).toISOString(),
  traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`,
} as Replica;
const nothing = () => Promise.resolve();

describe('spans of containers that are started', () => {
  let recorded: RecordedSpans;
  let clock: ManualClock;
  let spans: StartSpans;
  beforeEach(() => {
    recorded = new RecordedSpans();
    clock = new ManualClock();
    spans = new StartSpans({ clock, tracer: new Tracer({ clock, random: systemRandom }, recorded, 0) });
  });

  it('last until the container is healthy, with a part for each step, also one that failed', async () => {
    await spans.during(replica, 'create', () => Promise.reject(new RangeError('no room'))).catch(() => undefined);
    await spans.during(replica, 'create', nothing);
    await spans.during(replica, 'start', nothing);
    for (const health of ['starting', 'unhealthy'] as const) spans.settle('r1', { health });
    spans.settle('r1', undefined);
    expect(recorded.listParents().map(([name]) => name)).to.deep.equal(['create', 'create', 'start']);
    spans.settle('r1', { health: 'healthy' });

    expect(recorded.spans.map(({ isFailed }) => isFailed)).to.deep.equal([true, false, false, false]);
    expect(recorded.listParents()).to.deep.equal([
      ...['create', 'create', 'start'].map(step => [step, 'start container']),
      ['start container', undefined],
    ]);
    expect(recorded.spans.at(-1)).to.include({ parentId: 'cd'.repeat(8) });
    const about = { 'mooring.tenant': 't1', 'mooring.deployment': 'web' };
    expect(recorded.spans.at(-1)!.attributes).to.deep.equal({
      ...about,
      'mooring.replica': 'r1',
      'mooring.node': 'node_1',
    });
  });

  it('leave out what becomes of a container that was healthy once', async () => {
    await spans.during(replica, 'create', nothing);
    spans.settle('r1', { health: 'none' });
    const known = recorded.spans.length;
    await spans.during(replica, 'restart', nothing);
    spans.settle('r1', { health: 'none' });
    spans.forget('r1');
    expect(recorded.spans.length).to.equal(known);
  });

  it('say of a container that was given up that it failed', async () => {
    await spans.during(replica, 'create', nothing);
    spans.forget('r1');
    expect(recorded.spans.at(-1)).to.include({ name: 'start container', isFailed: true });
  });

  it('end after an hour without success, and take no further step', async () => {
    await spans.during(replica, 'create', nothing);
    await clock.pass(HOUR_MS);
    await spans.during(replica, 'start', nothing);
    await clock.pass(1);
    for (const step of ['restart', 'create']) await spans.during(replica, step, nothing);
    expect(recorded.spans.map(({ name, isFailed }) => [name, isFailed])).to.deep.equal([
      ['create', false],
      ['start', false],
      ['start container', true],
    ]);
  });

  it('are none of a replica that is older than an hour, as an agent that was started anew finds it', async () => {
    await clock.pass(HOUR_MS + 1);
    await spans.during(replica, 'create', nothing);
    spans.settle('r1', { health: 'none' });
    expect(recorded.spans).to.deep.equal([]);
  });

  it('are none of a container that was there before the agent, and is started again', async () => {
    for (const step of ['restart', 'create']) await spans.during(replica, step, nothing);
    spans.settle('r1', { health: 'none' });
    expect(recorded.spans).to.deep.equal([]);
  });

  const untraced: readonly [name: string, tracer: boolean, traceparent: unknown][] = [
    ['without a tracer', false, replica.traceparent],
    ['of a request that is not traced', true, undefined],
    ['of a trace that is not recorded', true, replica.traceparent!.replace(/01$/, '00')],
    ['of a record that is damaged', true, { a: 1 }],
  ];
  for (const [name, hasTracer, traceparent] of untraced) {
    it(`are none ${name}, and the steps are taken`, async () => {
      const chosen = hasTracer ? spans : new StartSpans({ clock });
      let taken = 0;
      await chosen.during({ ...replica, traceparent } as Replica, 'create', async () => void taken++);
      chosen.settle('r1', { health: 'healthy' });
      chosen.forget('r1');
      expect([taken, recorded.spans.length]).to.deep.equal([1, 0]);
    });
  }
});
