import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import type { StoredEvent } from '../crds/event/index.js';
import { keys, ranges } from '../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../crds/node/index.js';
import { computeTemplateHash, type Replica, toContainerTemplate } from '../crds/replica/index.js';
import { EtcdProcess } from '../dev/processes/index.js';
import { until } from '../dev/testing/index.js';
import { systemClock, systemRandom } from '../pkg/clock/index.js';
import { silentLogger } from '../pkg/log/index.js';
import {
  create,
  encode,
  EtcdStore,
  MAX_REQUEST_BYTES,
  StoreTooLargeFault,
  value,
  WatchCache,
} from '../pkg/store/index.js';
import { createControllers } from './index.js';
import { reportUnusable } from './report-unusable.js';
import { createScheduler } from './scheduler/index.js';
import { AT, makeDeployment, makeMetadata, TENANT } from './test-cluster.testing.js';

describe('a record that is too large for a real etcd', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-oversized-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
  });
  after(async () => {
    await store.close();
    await etcd.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const mebibytes of [1.6, 2.5, 6]) {
    it(`is refused at once, and holds up no other write: ${mebibytes} MiB`, async () => {
      const large = create(store, `large-${mebibytes}`, 'x'.repeat(mebibytes * 2 ** 20));
      const fault = await large.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(fault).to.be.instanceOf(StoreTooLargeFault);
      expect((await create(store, `small-${mebibytes}`, {})).stored).to.equal(true);
    });
  }

  it('becomes an event of its deployment when a loop would write it', async () => {
    const cache = new WatchCache({ store, clock: systemClock, log: silentLogger });
    const [fed, stop] = [new AbortController(), new AbortController()];
    const env = { store, cache, clock: systemClock, random: systemRandom, log: silentLogger };
    const lead = { holder: 'oversized', leaderLeaseSeconds: 9, eventRetentionDays: 1 };
    const controllers = createControllers({ ...env, ...lead, loops: [reportUnusable(createScheduler())] });
    const running = [cache.run(fed.signal), controllers.run(stop.signal)];
    const node: StoredNode = {
      metadata: makeMetadata('node_1'),
      id: 'node_1',
      name: 'one',
      labels: {},
      capacity: { cpu: 1000, memory: 2 ** 30, disk: 0 },
      publicKey: '',
      controlPlane: false,
      agentVersion: '0',
    };
    const status: NodeStatus = { id: node.id, status: 'ready', reason: 'heartbeat_received', since: AT };
    await create(store, keys.node(TENANT, 'one'), node);
    await create(store, keys.nodeStatus(TENANT, 'one'), status);
    const deployment = makeDeployment({ replicas: 1 });
    const replica: Replica = {
      uid: 'r0',
      tenant: TENANT,
      deployment: deployment.name,
      deploymentUid: deployment.metadata.uid,
      slot: 0,
      generation: 1,
      templateHash: computeTemplateHash(deployment),
      template: { ...toContainerTemplate(deployment), environment: { A: '' } },
      createdAt: AT,
    };
    // It fits as it is, and no more with its node and the event beside it.
    const A = 'x'.repeat(MAX_REQUEST_BYTES - encode(replica).length - 500);
    const largest = { ...replica, template: { ...replica.template, environment: { A } } };
    await create(store, keys.deployment(TENANT, deployment.name), deployment);
    await create(store, keys.replica(TENANT, deployment.name, 0), largest);

    const event = await until('the event', async () => {
      const { entries } = await store.list(ranges.of(ranges.events, TENANT));
      return entries.map(entry => value<StoredEvent>(entry)).find(({ reason }) => reason === 'record_unusable');
    });
    expect(event).to.deep.include({ type: 'deployment.degraded', severity: 'warning' });
    expect(event?.subject).to.deep.include({ kind: 'Deployment', name: deployment.name });
    expect(event?.message).to.contain('request is too large');
    stop.abort();
    await running[1];
    fed.abort();
    await running[0];
  });
});
