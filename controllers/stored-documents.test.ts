import { expect } from 'chai';
import fc from 'fast-check';

import { exampleFacts, limits } from '../crds/deployment/admit.testing.js';
import { soundDocument } from '../crds/deployment/arbitrary.testing.js';
import { admitCreate, type StoredDeployment, supportedFields } from '../crds/deployment/index.js';
import type { StoredEvent } from '../crds/event/index.js';
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
    const basic = { ...limits, supportedFields };
    await fc.assert(
      fc.asyncProperty(fc.array(soundDocument, { minLength: 5, maxLength: 5 }), async documents => {
        const failures: string[] = [];
        const cluster = new TestCluster();
        const stop = cluster.controllers('a', undefined, undefined, { log: recordFailures(failures) });
        await cluster.enrol('one', { 'mooring.io/country': 'DE' });
        await cluster.clock.pass(1_000);
        const specs = documents.flatMap(({ ...document }, position) => {
          for (const field of ['volumes', 'networks', 'rollout']) delete (document as Record<string, unknown>)[field];
          const admission = admitCreate({ ...document, name: `d${position}` }, exampleFacts, basic);
          return admission.ok ? [{ ...admission.spec, metadata: makeMetadata(`dep_${position}`) }] : [];
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

describe('a stored document that cannot be worked with', () => {
  const broken: readonly [title: string, change: Record<string, unknown>][] = [
    ['a dependency whose name is no name', { dependsOn: [{ name: 'X Y', condition: 'healthy' }] }],
    ['a dependency that is a path', { dependsOn: [{ name: 'a/b', condition: 'started' }] }],
    ['secrets that are no list', { secrets: 5 }],
    ['a dependency that is null', { dependsOn: [null] }],
    ['resources that are no quantity', { resources: { cpu: {} } }],
  ];
  for (const [title, change] of broken) {
    it(`is shown as such and can be deleted: ${title}`, async () => {
      const cluster = new TestCluster();
      const stop = cluster.controllers('a');
      await cluster.enrol('one');
      await cluster.clock.pass(1_000);
      const record = { ...makeDeployment(), ...change } as StoredDeployment;
      await cluster.put(keys.deployment(TENANT, 'web'), record);
      await cluster.clock.pass(3_000);
      const status = await cluster.status();
      const events = await cluster.all<StoredEvent>(ranges.events);
      const said = events.some(({ reason }) => reason === 'record_unusable' || reason === 'dependency');
      expect(status === undefined ? said : ['Waiting', 'Degraded', 'Running'].includes(status.phase)).to.equal(true);

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
