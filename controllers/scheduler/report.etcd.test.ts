import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import { toContainerTemplate, type Replica, computeTemplateHash } from '../../crds/replica/index.js';
import {
  type AbridgedGroups,
  toFilterRejection,
  type RejectedNode,
  ungroupRejections,
} from '../../crds/scheduling/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { EventLeases, EventWriter } from '../../pkg/events/index.js';
import { defaultPolicy, explainDeployment } from '../../pkg/fleet/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { Workload } from '../../pkg/placement/index.js';
import { EtcdProcess } from '../../dev/processes/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { create, encode, EtcdStore, type Put, value, WatchCache } from '../../pkg/store/index.js';
import { createControllers } from '../index.js';
import { buildReport } from './changes.js';
import { toVerdict } from './decide.js';
import { createScheduler } from './index.js';

const TENANT = 'a2d1b2a0-0000-4000-8000-000000000001';
const AT = '2030-01-01T00:00:00.000Z';
const NODES = 10_000;
const WRITTEN_AT_ONCE = 60;
/** What etcd takes, as it is set up by default. */
const REQUEST_AT_MOST = 1.5 * 2 ** 20;

const metadata = (uid: string) => ({ tenant: TENANT, uid, generation: 1, createdAt: AT, updatedAt: AT, specHash: '' });
/** As long as a name and the value of a label may be. */
const longest = (position: number) => String(position).padStart(63, 'machine-');

const deployment: StoredDeployment = {
  metadata: metadata('dep_1'),
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 1,
  secretsVersion: 0,
  placement: { constraints: ['rack', 'row'].map(key => ({ key, operator: 'In', values: ['none'] })) },
};

function nodePuts(position: number): readonly Put[] {
  const name = longest(position);
  const node: StoredNode = {
    metadata: metadata(`node_${position}`),
    id: `node_${position}`,
    name,
    labels: { rack: name, row: name },
    capacity: { cpu: 1000, memory: 2 ** 30, disk: 0 },
    publicKey: '',
    controlPlane: false,
    agentVersion: '0',
  };
  const status: NodeStatus = { id: node.id, status: 'ready', reason: 'heartbeat_received', since: AT };
  return [
    { key: keys.node(TENANT, name), bytes: encode(node) },
    { key: keys.nodeStatus(TENANT, name), bytes: encode(status) },
  ];
}

/** What an event may hold of what nodes say must be what a real etcd takes, with all that is written beside it. */
describe('event of an unschedulable deployment, on a real etcd,', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;
  let cache: WatchCache;
  const stop = new AbortController();
  const fed = new AbortController();
  const running: Promise<void>[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-complaint-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
    cache = new WatchCache({ store, clock: systemClock, log: silentLogger });
  });
  after(async () => {
    stop.abort();
    await running[1];
    fed.abort();
    await running[0];
    await store.close();
    await etcd.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  it('[3.10] names every one of 10,000 nodes, however long their names and labels', async () => {
    const puts = Array.from({ length: NODES }, (_, position) => nodePuts(position)).flat();
    const batches = Array.from({ length: Math.ceil(puts.length / WRITTEN_AT_ONCE) }, (_, number) =>
      puts.slice(number * WRITTEN_AT_ONCE, (number + 1) * WRITTEN_AT_ONCE),
    );
    // One after the other: what waits in a queue of our own making may wait too long on a busy machine.
    for (const some of batches)
      await store.commit({ guards: some.map(({ key }) => ({ key, at: 0 })), puts: some, deletes: [] });
    const told = new Promise<void>(resolve => {
      cache.subscribe(({ key }) => key.startsWith(ranges.schedulings) && resolve());
    });
    const env = { store, cache, clock: systemClock, random: systemRandom, log: silentLogger };
    const lead = { loops: [createScheduler()], holder: 'largest', leaderLeaseSeconds: 9, eventRetentionDays: 1 };
    const controllers = createControllers({ ...env, ...lead });
    running.push(cache.run(fed.signal), controllers.run(stop.signal));
    await create(store, keys.deployment(TENANT, 'web'), deployment);
    const replica: Replica = {
      uid: 'r0',
      tenant: TENANT,
      deployment: 'web',
      deploymentUid: 'dep_1',
      slot: 0,
      generation: 1,
      templateHash: computeTemplateHash(deployment),
      template: toContainerTemplate(deployment),
      createdAt: AT,
    };
    await create(store, keys.replica(TENANT, 'web', 0), replica);
    await told;

    const [event] = (await store.list(ranges.of(ranges.events, TENANT))).entries;
    const { type, data } = value<StoredEvent>(event!);
    const { groups, leftOut } = data as unknown as AbridgedGroups;
    console.log(`      ${(event!.bytes.length / 1024).toFixed(0)} KiB`);
    expect([type, leftOut]).to.deep.equal(['deployment.unschedulable', { reported: true, nodes: 0 }]);
    expect(ungroupRejections(groups)).to.have.length(NODES);
    const live = explainDeployment(deployment, TENANT, { cache, policy: defaultPolicy });
    const reported = live.nodes.map(({ verdicts }) => verdicts.find(({ ok }) => !ok)?.reason?.reported);
    expect(new Set(reported).size, 'live every node says what it is').to.equal(NODES);
  });

  it('is stored at its largest size', async () => {
    const reasons = [
      toFilterRejection('label_constraint', 'no rack', 'rack=a'),
      toFilterRejection('quota', 'at most 1 container', '1'),
    ];
    const refused = Array.from(
      { length: 40_000 },
      (_, position): RejectedNode => ({ node: longest(position), reasons }),
    );
    const verdict = toVerdict('dep_1', { unplaced: 1, refused }, {} as Workload)!;
    const events = new EventWriter(new EventLeases(store, systemClock, 1), systemClock, systemRandom);
    const env = { clock: systemClock, random: systemRandom, cache, log: silentLogger, events } as unknown as LoopEnv;
    const name = longest(0);
    const same = { key: keys.deployment(TENANT, name), at: 0 };
    const subject = { named: { tenant: TENANT, name }, uid: 'dep_2', same, quotas: same };
    const change = await buildReport({ kind: 'new', verdict }, undefined, subject, env);

    const bytes = change.puts.reduce((sum, put) => sum + put.bytes.length, 0);
    expect(bytes).to.be.within(1.2 * 2 ** 20, REQUEST_AT_MOST);
    expect((await store.commit(change)).stored).to.equal(true);
  });
});
