import { expect } from 'chai';

import type { StoredJob } from '../crds/job/index.js';
import { keys } from '../crds/keys/index.js';
import type { Replica } from '../crds/replica/index.js';
import { ManualClock } from '../pkg/clock/manual-clock.testing.js';
import { systemRandom } from '../pkg/clock/index.js';
import { done, type Loop, type LoopEnv } from '../pkg/reconcile/index.js';
import { type Change, encode, Entry, StoreUnavailableFault } from '../pkg/store/index.js';
import { Tracer } from '../pkg/trace/index.js';
import { RecordedSpans } from '../pkg/trace/recorded-spans.testing.js';
import { buildChange } from './job-runner/changes.js';
import type { JobDecision } from './job-runner/decide.js';
import type { ObservedDeployment } from './reading/index.js';
import { buildStep } from './replica-keeper/steps.js';
import { makeDeployment, TENANT } from './test-cluster.testing.js';
import { traceReconciles } from './trace-reconciles.js';

const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
const HOUR_MS = 3_600_000;

describe('reconciles that are traced', () => {
  const clock = new ManualClock();
  let recorded: RecordedSpans;
  beforeEach(() => {
    recorded = new RecordedSpans();
  });

  interface Story {
    readonly name?: string;
    readonly trace?: unknown;
    readonly ageMs?: number;
    readonly commits?: number;
    readonly error?: Error;
  }

  const run = async ({ name = 'scheduler', trace = traceparent, ageMs = 0, commits = 1, error }: Story = {}) => {
    const deployment = makeDeployment();
    const updatedAt = new Date(clock.now() - ageMs).toISOString();
    const metadata = { ...deployment.metadata, updatedAt, traceparent: trace };
    const entry = new Entry(keys.deployment(TENANT, 'web'), encode({ ...deployment, metadata }));
    const cache = { get: (key: string) => (key === entry.key ? entry : undefined) };
    let committed = 0;
    const env = { clock, cache, commit: () => Promise.resolve(void committed++) } as unknown as LoopEnv;
    const loop: Loop = {
      name,
      wakes: [],
      reconcile: async (_key, { commit }) => {
        for (let made = 0; made < commits; made++) await commit({ guards: [], puts: [], deletes: [] });
        if (error) throw error;
        return done;
      },
    };
    const tracer = new Tracer({ clock, random: systemRandom }, recorded, 0);
    const traced = traceReconciles(loop, tracer).reconcile(`${TENANT}/web`, env, new AbortController().signal);
    const outcome = await traced.catch((thrown: unknown) => thrown);
    expect([outcome, committed]).to.deep.equal([error ?? done, commits]);
  };

  it('are a span below the request that was accepted last', async () => {
    await run({ commits: 2 });
    const [span, ...others] = recorded.spans;
    expect(others).to.deep.equal([]);
    expect(span).to.include({ name: 'reconcile scheduler', parentId: 'cd'.repeat(8), isFailed: false });
    expect(span!.attributes).to.deep.equal({
      'mooring.tenant': TENANT,
      'mooring.deployment': 'web',
      'mooring.loop': 'scheduler',
      'mooring.changes': 2,
    });
  });

  const failures: readonly [name: string, error: Error, isFailed: boolean][] = [
    ['that will be retried', new StoreUnavailableFault('password=hunter2'), false],
    ['that nobody expected', new TypeError('password=hunter2'), true],
  ];
  for (const [name, error, isFailed] of failures) {
    it(`say the class of an error ${name}, not its message`, async () => {
      await run({ commits: 0, error });
      expect(recorded.spans.map(each => each.isFailed)).to.deep.equal([isFailed]);
      expect(recorded.spans[0]!.attributes['error.type']).to.equal(error.name);
      expect(JSON.stringify(recorded.spans)).to.not.contain('hunter2');
    });
  }

  const silent: readonly [name: string, story: Story][] = [
    ['that changed nothing', { commits: 0 }],
    ['of a request that was not traced', { trace: '' }],
    ['of a trace that is not recorded', { trace: traceparent.replace(/01$/, '00') }],
    ['of a record that is damaged', { trace: { a: 1 } }],
    ['long after the request', { ageMs: HOUR_MS + 1 }],
    ['of a loop that works on something else', { name: 'node-monitor' }],
  ];
  for (const [name, story] of silent) {
    it(`leave no span ${name}`, async () => {
      await run(story);
      expect(recorded.spans).to.deep.equal([]);
    });
  }

  it('are still part of the trace within the hour', async () => {
    await run({ ageMs: HOUR_MS - 1 });
    expect(recorded.spans.length).to.equal(1);
  });
});

describe('replicas that are made for a request that is traced', () => {
  const clock = new ManualClock();
  const env = { clock, random: systemRandom, cache: { get: () => undefined } } as unknown as LoopEnv;
  const metadataOf = (ageMs: number) => ({
    ...makeDeployment().metadata,
    updatedAt: new Date(clock.now() - ageMs).toISOString(),
    traceparent,
  });
  const readTrace = (change: Change | undefined) => {
    const [replica] = change!.puts.map(({ bytes }) => JSON.parse(bytes.toString()) as Partial<Replica>);
    expect(replica).to.include({ tenant: TENANT }).and.have.property('template');
    return replica!.traceparent;
  };

  const ages: readonly [ageMs: number, expected: string | undefined][] = [
    [0, traceparent],
    [HOUR_MS, traceparent],
    [HOUR_MS + 1, undefined],
  ];
  for (const [ageMs, expected] of ages) {
    it(`are ${expected === undefined ? 'not ' : ''}part of its trace ${ageMs} ms later`, async () => {
      const deployment = makeDeployment({ metadata: metadataOf(ageMs) });
      const unchanged = { key: keys.deployment(TENANT, 'web'), at: 1 };
      const reading = { deployment, unchanged } as ObservedDeployment;
      expect(readTrace(buildStep({ kind: 'fill', slot: 0 }, reading, [], env))).to.equal(expected);

      const job: StoredJob = {
        metadata: metadataOf(ageMs),
        kind: 'Job',
        name: 'once',
        image: 'web:1',
        backoffLimit: 0,
      };
      const of = { tenant: TENANT, name: 'once', job, jobEntry: undefined, statusEntry: undefined, records: [] };
      const create = { attempt: 1, uid: 'r1', state: 'Pending' } as const;
      const decision: JobDecision = { create, retire: [], clear: [], remove: false };
      expect(readTrace(await buildChange(of, decision, undefined, env))).to.equal(expected);
    });
  }
});
