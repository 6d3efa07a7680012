import { expect } from 'chai';
import fc from 'fast-check';

import { exampleFacts, limits } from '../crds/deployment/admit.testing.js';
import { soundDocument } from '../crds/deployment/arbitrary.testing.js';
import { admitCreate, type StoredDeployment } from '../crds/deployment/index.js';
import type { StoredEvent } from '../crds/event/index.js';
import { admitJob, type JobStatus } from '../crds/job/index.js';
import { keys, ranges } from '../crds/keys/index.js';
import { type Logger, silentLogger } from '../pkg/log/index.js';
import { AT, makeDeployment, makeMetadata, TENANT, TestCluster } from './test-cluster.testing.js';

/** A logger that keeps what went wrong. */
function recordFailures(failures: string[]): Logger {
  const note = (message: string, fields: object = {}) => {
    if (/reconcile failed|cannot be worked with/.test(message)) failures.push(`${message} ${JSON.stringify(fields)}`);
  };
  const logger: Logger = { ...silentLogger, warn: note, error: note, with: () => logger };
  return logger;
}

describe('any document that admission accepts', () => {
  it('is reconciled and deleted without a failed reconcile', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(soundDocument, { minLength: 5, maxLength: 5 }), async documents => {
        const failures: string[] = [];
        const cluster = new TestCluster();
        const stop = cluster.controllers('a', undefined, undefined, { log: recordFailures(failures) });
        await cluster.enrol('one', { 'mooring.io/country': 'DE' });
        await cluster.clock.pass(1_000);
        const specs = documents.map((document, position) => {
          const { volumes: _, networks: __, rollout, ...rest } = document;
          const { canary: ___, ...strategy } = rollout ?? {};
          const asked = { ...rest, ...(rollout && { rollout: strategy }), name: `d${position}` };
          const admission = admitCreate(asked, exampleFacts, limits);
          // A document that is refused would be left out of the property.
          if (!admission.ok) throw new Error(`${JSON.stringify(asked)} is refused: ${JSON.stringify(admission)}`);
          return { ...admission.spec, metadata: makeMetadata(`dep_${position}`) };
        });
        for (const spec of specs) await cluster.put(keys.deployment(TENANT, spec.name), spec);
        await cluster.clock.pass(5_000);
        for (const spec of specs) {
          const deleted = { ...spec, metadata: { ...makeMetadata(spec.metadata.uid, 2), deletedAt: AT } };
          await cluster.put(keys.deployment(TENANT, spec.name), deleted);
        }
        await cluster.clock.pass(10_000);
        const left = await cluster.all<StoredDeployment>(ranges.deployments);
        stop.abort();
        cluster.close();
        expect(failures).to.deep.equal([]);
        expect(left.map(({ name }) => name)).to.deep.equal([]);
      }),
      { numRuns: 8 },
    );
  });
});

describe('any job that admission accepts', () => {
  const sound = fc.record(
    {
      entrypoint: fc.constant(['/bin/x']),
      nodeId: fc.constantFrom('machine-1', 'machine-2'),
      environment: fc.dictionary(fc.constantFrom('MODE', 'LEVEL'), fc.string({ maxLength: 8 }), {
        noNullPrototype: true,
      }),
      secrets: fc.constant([{ name: 'DB', vault_path: 'deployments/web-db', anchor: 'external', rotation: 'restart' }]),
      resources: fc.constantFrom({ cpu: '1' }, { memory: '1Gi' }),
      placement: fc.constantFrom({ residency: { country: 'de' } }, { antiAffinity: { self: true } }),
      backoffLimit: fc.integer({ min: 0, max: 3 }),
      timeoutSeconds: fc.integer({ min: 1, max: 60 }),
      ttlSecondsAfterFinished: fc.integer({ min: 0, max: 60 }),
    },
    { requiredKeys: [], noNullPrototype: true },
  );

  it('is reconciled and deleted without a failed reconcile', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sound, { minLength: 5, maxLength: 5 }), async documents => {
        const failures: string[] = [];
        const cluster = new TestCluster();
        const stop = cluster.controllers('a', undefined, undefined, { log: recordFailures(failures) });
        await cluster.enrol('one', { 'mooring.io/country': 'DE' });
        await cluster.clock.pass(1_000);
        const specs = documents.map((document, position) => {
          const asked = { kind: 'Job', name: `j${position}`, image: 'registry.example.com/shop/x:1.0.0', ...document };
          const admission = admitJob(asked, exampleFacts, limits);
          if (!admission.ok) throw new Error(`${JSON.stringify(asked)} is refused: ${JSON.stringify(admission)}`);
          return { ...admission.spec, metadata: makeMetadata(`job_${position}`) };
        });
        for (const spec of specs) await cluster.put(keys.job(TENANT, spec.name), spec);
        await cluster.clock.pass(5_000);
        const started = await cluster.all<JobStatus>(ranges.jobStatuses);
        for (const spec of specs) {
          const deleted = { ...spec, metadata: { ...makeMetadata(spec.metadata.uid, 2), deletedAt: AT } };
          await cluster.put(keys.job(TENANT, spec.name), deleted);
        }
        await cluster.clock.pass(10_000);
        const left = [ranges.jobs, ranges.jobStatuses, ranges.replicas, ranges.schedulings, ranges.unresolved];
        const kept = (await Promise.all(left.map(range => cluster.all(range)))).flat();
        stop.abort();
        cluster.close();
        expect(failures).to.deep.equal([]);
        expect(started.map(({ attempts }) => attempts)).to.deep.equal([1, 1, 1, 1, 1]);
        expect(kept).to.deep.equal([]);
      }),
      { numRuns: 8 },
    );
  });
});

describe('a stored document that cannot be worked with', () => {
  interface ExpectedReport {
    readonly condition: readonly [type: string, status: string, reason: string];
    /** Reason of the event. */
    readonly event: string;
  }
  const unusable: ExpectedReport = { condition: ['Progressing', 'False', 'record_unusable'], event: 'record_unusable' };
  const unmet: ExpectedReport = { condition: ['DependenciesHealthy', 'False', 'Unmet'], event: 'dependency' };
  const placed: ExpectedReport = { condition: ['Placed', 'True', 'AllPlaced'], event: 'placed' };
  const broken: readonly [title: string, change: Record<string, unknown>, told: ExpectedReport][] = [
    ['a dependency whose name is no name', { dependsOn: [{ name: 'X Y', condition: 'healthy' }] }, unmet],
    ['a dependency that is a path', { dependsOn: [{ name: 'a/b', condition: 'started' }] }, unmet],
    ['secrets that are no list', { secrets: 5 }, unusable],
    ['a dependency that is null', { dependsOn: [null] }, unusable],
    ['resources that are no quantity, and count as none', { resources: { cpu: {} } }, placed],
  ];
  for (const [title, change, { condition, event }] of broken) {
    it(`is shown as such and can be deleted: ${title}`, async () => {
      const cluster = new TestCluster();
      const stop = cluster.controllers('a');
      await cluster.enrol('one');
      await cluster.clock.pass(1_000);
      const record = { ...makeDeployment(), ...change } as StoredDeployment;
      await cluster.put(keys.deployment(TENANT, 'web'), record);
      await cluster.clock.pass(3_000);
      const { conditions = [] } = (await cluster.status()) ?? {};
      expect(conditions.map(({ type, status, reason }) => [type, status, reason])).to.deep.include([...condition]);
      const events = await cluster.all<StoredEvent>(ranges.events);
      expect(events.map(({ reason }) => reason)).to.include(event);

      const other = makeDeployment({ metadata: makeMetadata('dep_2'), name: 'other', replicas: 1 });
      await cluster.put(keys.deployment(TENANT, 'other'), other);
      const deleted = { ...makeMetadata('dep_1', 2), deletedAt: AT };
      await cluster.put(keys.deployment(TENANT, 'web'), { ...record, metadata: deleted });
      await cluster.clock.pass(10_000);
      expect(await cluster.get(keys.deployment(TENANT, 'web'))).to.equal(undefined);
      expect((await cluster.status('other'))?.phase).to.equal('Running');
      stop.abort();
      cluster.close();
    });
  }
});
