import { expect } from 'chai';

import type { StoredEvent } from '../crds/event/index.js';
import { keys, ranges } from '../crds/keys/index.js';
import type { NetworkStatus } from '../crds/network/index.js';
import type { NodeStatus, StoredNode } from '../crds/node/index.js';
import type { Replica } from '../crds/replica/index.js';
import { type Logger, silentLogger } from '../pkg/log/index.js';
import { listHostile, sampleCases } from '../dev/testing/index.js';
import { PATH, RotationCluster } from './rotation-phaser/rotation-cluster.testing.js';
import { AT, makeDeployment, makeMetadata, node, TENANT } from './test-cluster.testing.js';

/** A logger that keeps what went wrong. */
function recordFailures(failures: string[]): Logger {
  const note = (message: string, fields: { error?: Error } = {}) => {
    if (/reconcile failed|listener|index of/.test(message)) failures.push(`${message} ${fields.error?.stack}`);
  };
  const logger: Logger = { ...silentLogger, warn: note, error: note, with: () => logger };
  return logger;
}

const secrets = [{ name: 'DB', vault_path: PATH, anchor: 'process', rotation: 'restart' }] as const;
const rotation = {
  id: 'rot_9',
  path: 'deployments/bad',
  phase: 'promote',
  from: 1,
  to: 2,
  material: { by: 'platform' },
  deployment: 'web',
  by: 'me',
  askedAt: AT,
};
const event = {
  id: 'evt_1',
  type: 'deployment.created',
  at: AT,
  lastSeenAt: AT,
  count: 1,
  tenant: TENANT,
  subject: { kind: 'Deployment', name: 'web', id: 'dep_1' },
  severity: 'info',
  reason: 'created',
  message: 'made',
  data: {},
};
const report = (uid: string) => ({
  replica: uid,
  deployment: 'web',
  slot: 0,
  nodeId: 'node_n1',
  templateHash: 'h',
  state: 'running',
  restarts: 0,
  health: 'none',
  at: AT,
  lastEnd: { exitCode: 1, at: AT },
  retry: { at: AT },
});
const job = {
  metadata: makeMetadata('job_1'),
  kind: 'Job',
  name: 'bad',
  image: 'migrate:1',
  command: ['up'],
  backoffLimit: 3,
  timeoutSeconds: 60,
  ttlSecondsAfterFinished: 60,
};
const jobStatus = {
  uid: 'job_1',
  phase: 'Pending',
  message: 'm',
  reason: 'container_exited',
  attempts: 1,
  exitCode: 3,
  startedAt: AT,
  retryAt: AT,
  history: [
    { attempt: 0, uid: 'a0', state: 'Failed', nodeId: 'n', exitCode: 3, message: 'm', finishedAt: AT, storedAt: AT },
  ],
};
const scheduled = { ...job, schedule: '* * * * *', timeZone: 'Europe/Berlin', concurrencyPolicy: 'Replace' };
const run = { name: 'bad-1', scheduledAt: AT, phase: 'Failed', exitCode: 3, finishedAt: AT };
const scheduleStatus = {
  ...jobStatus,
  phase: 'Scheduled',
  settledUntil: AT,
  lastScheduledAt: AT,
  nextRunAt: AT,
  active: ['bad-1'],
  lastRun: run,
  runs: [run],
  missed: { count: 1, lastAt: AT, reason: 'runs_missed' },
};
const runMetadata = { ...makeMetadata('job_2'), owner: { name: 'bad', uid: 'job_1' }, scheduledAt: AT };
const versions = { [PATH]: 1 };
const network = {
  metadata: makeMetadata('net_1'),
  name: 'back',
  driver: 'bridge',
  labels: { tier: 'data' },
  internal: true,
  nodeId: 'node_n1',
};

/** A key of each range that a loop reads, with a sound document: absent where the cluster has one already. */
type Subject = readonly [key: (uid: string) => string, sound?: unknown];
const subjects: Readonly<Record<string, Subject>> = {
  deployments: [() => keys.deployment(TENANT, 'web')],
  replicas: [() => keys.replica(TENANT, 'web', 0)],
  reports: [uid => keys.report(TENANT, 'node_n1', uid)],
  'reports of no replica': [() => keys.report(TENANT, 'node_n1', 'nobody'), report('nobody')],
  status: [() => keys.status(TENANT, 'web')],
  rollouts: [() => keys.rollout(TENANT, 'web')],
  jobs: [() => keys.job(TENANT, 'bad'), job],
  'job-status': [() => keys.jobStatus(TENANT, 'bad'), jobStatus],
  'jobs with a schedule': [() => keys.job(TENANT, 'bad'), scheduled],
  'job-status of a schedule': [() => keys.jobStatus(TENANT, 'bad'), scheduleStatus],
  'jobs of a schedule': [() => keys.job(TENANT, 'bad-1'), { ...job, name: 'bad-1', metadata: runMetadata }],
  scheduling: [
    () => keys.scheduling(TENANT, 'web'),
    { uid: 'dep_1', unplaced: 1, summary: 's', filters: ['ready'], cause: 'c', details: 'd', lastSeenAt: AT },
  ],
  unresolved: [
    () => keys.unresolved(TENANT, 'web'),
    { uid: 'dep_1', reason: 'secret_missing', message: 'm', replicas: 1, since: AT, lastSeenAt: AT, event: 'evt_1' },
  ],
  deliveries: [
    uid => keys.delivery(TENANT, 'web', uid),
    { replica: 'r', nodeId: 'node_n1', uses: [{ ticket: 't', at: AT, versions }] },
  ],
  nodes: [() => keys.node(TENANT, 'n2'), node('n2', {})],
  'nodes of its own': [() => keys.node(TENANT, 'n1')],
  'node-status': [() => keys.nodeStatus(TENANT, 'n1')],
  'node-grace': [() => keys.nodeGrace(TENANT, 'n1'), { id: 'node_n1', since: AT }],
  alive: [() => keys.alive(TENANT, 'n2'), { id: 'node_n2', lease: '1', since: AT, run: 'f' }],
  'node-names': [() => keys.nodeName('n1'), { claims: [{ tenant: TENANT, since: AT }] }],
  rotations: [() => keys.rotation(TENANT, 'bad'), rotation],
  'rotation-progress': [
    () => keys.rotationProgress(TENANT, 'bad'),
    { id: 'rot_9', phase: 'promote', holds: true, staged: true, raised: {}, returned: {}, at: AT },
  ],
  intents: [
    () => keys.intent(TENANT, 'i1'),
    {
      state: 'undoing',
      tenant: TENANT,
      subject: 'web',
      operation: 'o',
      at: AT,
      writes: [{ path: 'deployments/bad', version: 3 }],
      doomed: [],
    },
  ],
  networks: [() => keys.network(TENANT, 'back'), network],
  'network-status': [
    () => keys.networkStatus(TENANT, 'back'),
    { uid: 'net_1', state: 'ready', reason: 'network_ready', message: 'm', node: 'n1', since: AT },
  ],
  'network-reports': [() => keys.networkReport(TENANT, 'back'), { uid: 'net_1', state: 'ready', at: AT }],
  'canary-orders': [
    () => keys.canaryOrder(TENANT, 'web'),
    { uid: 'dep_1', contentHash: 'h', action: 'abort', by: 'tok', at: AT },
  ],
  'canary-orders that resume': [
    () => keys.canaryOrder(TENANT, 'web'),
    {
      uid: 'dep_1',
      contentHash: 'h',
      action: 'resume',
      beside: {
        completed: { revision: 1, templateHash: 'h', contentHash: 'h', at: AT },
        baseline: { templateHash: 'h', template: { image: 'web:1', secretsVersion: 0 } },
      },
      by: 'tok',
      at: AT,
    },
  ],
  events: [() => keys.event(TENANT, 'evt_1'), event],
  'former-deployments': [
    () => keys.formerDeployments(TENANT, 'old'),
    { deployments: [{ uid: 'dep_0', lastRevision: 3, deletedAt: AT }] },
  ],
  tenants: [
    () => keys.tenant(TENANT),
    { id: TENANT, name: 'shop', createdAt: AT, platform: false, quotas: { cpu: 9 } },
  ],
  platform: [() => keys.platform('n1', 'p1'), { since: AT }],
  secrets: [() => keys.secret(TENANT, 'deployments', 'bad'), { uid: 'u', last: 1, live: [1], keyId: 'k', code: 'c' }],
};

describe('a record of any range that cannot be worked with', () => {
  for (const [title, [toKey, sound]] of sampleCases(4, Object.entries(subjects))) {
    it(`holds up nothing but its own object: ${title}`, async () => {
      const failures: string[] = [];
      const cluster = new RotationCluster();
      const stop = cluster.controllers('a', undefined, undefined, { log: recordFailures(failures) });
      await cluster.begin();
      await cluster.enrol('n3');
      const first = await cluster.get<Replica>(keys.replica(TENANT, 'web', 0));
      const key = toKey(first!.uid);
      if (title.endsWith('of a schedule')) await cluster.put(keys.job(TENANT, 'bad'), scheduled);
      if (title === 'job-status') await cluster.put(keys.job(TENANT, 'bad'), job);
      if (title.startsWith('network-')) await cluster.put(keys.network(TENANT, 'back'), network);
      const before = sound ?? (await cluster.get(key));
      expect(before, 'a sound document to begin with').to.be.an('object');
      const hostile = listHostile(before, title.length, 10);
      for (const [at, bytes] of hostile.entries()) {
        const seen = await cluster.store.get(key);
        await cluster.store.commit({ guards: [{ key, at: seen?.revision ?? 0 }], puts: [{ key, bytes }], deletes: [] });
        await cluster.clock.pass(1_000);
        const name = `other-${at}`;
        const other = makeDeployment({ metadata: makeMetadata(`dep_o${at}`), name, replicas: 1, secrets });
        await cluster.put(keys.deployment(TENANT, name), other);
        await cluster.clock.pass(4_000);
        const shown = bytes.toString('utf8').slice(0, 200);
        expect((await cluster.status(name))?.phase, `${name} beside ${shown}`).to.equal('Running');
        expect(failures, shown).to.deep.equal([]);
        await cluster.put(keys.deployment(TENANT, name), {
          ...other,
          metadata: { ...makeMetadata(`dep_o${at}`, 2), deletedAt: AT },
        });
        await cluster.clock.pass(3_000);
        expect(await cluster.get(keys.deployment(TENANT, name)), `${name} is removed beside ${shown}`).to.equal(
          undefined,
        );
      }
      const events = await cluster.all<StoredEvent>(ranges.events);
      const told = events.filter(({ reason }) => reason === 'record_unusable' && reason !== event.reason);
      expect(told.length, 'one standing event for each cause, not one for each look').to.be.lessThan(
        hostile.length + 1,
      );
      stop.abort();
      cluster.close();
    });
  }
});

describe('a record that cannot be worked with is seen', () => {
  let cluster: RotationCluster;
  let stop: AbortController;
  beforeEach(async () => {
    cluster = new RotationCluster();
    stop = cluster.controllers('a');
    await cluster.begin();
    await cluster.put(keys.tenant(TENANT), { id: TENANT, name: 'shop', createdAt: AT, platform: false });
  });
  afterEach(() => {
    stop.abort();
    cluster.close();
  });

  const store = async (key: string, text: string) => {
    const at = (await cluster.store.get(key))?.revision ?? 0;
    await cluster.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: Buffer.from(text) }], deletes: [] });
    await cluster.clock.pass(10_000);
  };
  const told = async () => {
    const events = (await cluster.all<StoredEvent>(ranges.events)).filter(({ reason }) => reason === 'record_unusable');
    return events.map(({ type, subject, count }) => `${type} ${subject.name} ${count}`);
  };

  it('of a node: it takes no work, and what stands on it is neither moved nor called healthy', async () => {
    const before = await cluster.whereabouts();
    await cluster.enrol('n2');
    await store(keys.node(TENANT, 'n1'), '{');
    const status = await cluster.get<NodeStatus>(keys.nodeStatus(TENANT, 'n1'));
    expect(status).to.include({ status: 'unready', reason: 'record_unusable' });
    expect(await cluster.whereabouts()).to.deep.equal(before);
    const { phase, placements = [] } = (await cluster.status()) ?? {};
    expect(phase).to.equal('Degraded');
    expect(placements.map(({ reason, state }) => [reason, state])[0]).to.deep.equal(['record_unusable', 'unknown']);
    expect(await told()).to.include('node.record_unusable n1 1');

    await cluster.put(keys.node(TENANT, 'n1'), node('n1', {}));
    await cluster.clock.pass(5_000);
    expect((await cluster.status())?.phase).to.equal('Running');
    expect((await told()).filter(each => each.startsWith('node.'))).to.deep.equal(['node.record_unusable n1 1']);
  });

  it('of a node whose id can be read: its containers stay in sight', async () => {
    const record = await cluster.get<StoredNode>(keys.node(TENANT, 'n1'));
    await store(keys.node(TENANT, 'n1'), JSON.stringify({ ...record, labels: 7 }));
    expect((await cluster.get<NodeStatus>(keys.nodeStatus(TENANT, 'n1')))?.reason).to.equal('record_unusable');
    expect((await cluster.status())?.phase).to.equal('Running');
  });

  it('of a rotation: on its consumers, and it can be begun again', async () => {
    await store(keys.rotation(TENANT, 'web-db'), '[]');
    for (const name of ['web', 'worker']) {
      const { conditions = [] } = (await cluster.status(name)) ?? {};
      const rotating = conditions.find(({ type }) => type === 'Rotating');
      expect(rotating).to.include({ status: 'True', reason: 'record_unusable' });
      expect(rotating?.message).to.include('begin it again');
    }
    expect(await told()).to.deep.equal(['secret.record_unusable web-db 1']);
    await cluster.erase(keys.rotation(TENANT, 'web-db'));
    await cluster.reach('stage');
  });

  it('of a replica or its report: by an event of the deployment that is counted up, and on the replica', async () => {
    const { uid } = (await cluster.get<Replica>(keys.replica(TENANT, 'web', 0)))!;
    await store(keys.report(TENANT, 'node_n1', uid), 'null');
    await store(keys.report(TENANT, 'node_n1', uid), '7');
    expect((await told()).filter(each => each.startsWith('deployment.record'))).to.deep.equal([
      'deployment.record_unusable web 2',
    ]);
    const { placements = [] } = (await cluster.status()) ?? {};
    expect(placements[0]).to.include({ reason: 'record_unusable' });

    await store(keys.replica(TENANT, 'web', 1), '{}');
    const next = await cluster.get<Replica>(keys.replica(TENANT, 'web', 1));
    expect(next?.template.image, 'the slot is filled anew').to.equal('web:1');
  });

  it('of an intent: by an event of the tenant, and nothing is destroyed for it', async () => {
    await store(keys.intent(TENANT, 'i1'), '{"state":"undoing"}');
    await cluster.clock.pass(120_000);
    expect(await told()).to.deep.equal(['tenant.record_unusable shop 1']);
    const [announced] = (await cluster.all<StoredEvent>(ranges.events)).filter(
      each => each.reason === 'record_unusable',
    );
    expect(announced?.message, 'nobody writes it anew').to.match(/no version is destroyed for it.*remove the key/);
    expect(await cluster.store.get(keys.intent(TENANT, 'i1'))).to.not.equal(undefined);
    await cluster.reach('stage');
  });

  it('of a network: in its status, with a remedy that works while something joins it, and by an event of its own', async () => {
    await cluster.put(keys.network(TENANT, 'back'), network);
    await store(keys.network(TENANT, 'back'), JSON.stringify({ ...network, nodeId: 7 }));
    const status = await cluster.get<NetworkStatus>(keys.networkStatus(TENANT, 'back'));
    expect(status).to.include({ state: 'unknown', reason: 'record_unusable' });
    expect(status?.message).to.match(/remove it from what joins it, or delete that, then delete it/);
    expect(await told()).to.deep.equal(['network.record_unusable back 1']);

    await cluster.put(keys.network(TENANT, 'back'), network);
    await store(keys.networkStatus(TENANT, 'back'), '[]');
    expect(
      (await cluster.get<NetworkStatus>(keys.networkStatus(TENANT, 'back')))?.state,
      'it is written again',
    ).to.equal('pending');
  });

  it('of the order about a canary: by an event of the deployment, and it holds up no rollout', async () => {
    await store(keys.canaryOrder(TENANT, 'web'), '{"action":7}');
    expect(await told()).to.include('deployment.record_unusable web 1');
    expect(await cluster.store.get(keys.canaryOrder(TENANT, 'web')), 'the order is removed').to.equal(undefined);
  });

  it('of a job: by an event of the job', async () => {
    const job = { metadata: makeMetadata('job_1'), kind: 'Job', name: 'batch', image: 'batch:1', backoffLimit: 0 };
    await cluster.put(keys.job(TENANT, 'batch'), job);
    await cluster.clock.pass(2_000);
    await store(keys.job(TENANT, 'batch'), JSON.stringify({ ...job, image: 7 }));
    expect(await told()).to.deep.equal(['job.record_unusable batch 1']);
  });

  it('of the name of a node: it is repaired from the nodes that have it, and freed where none has', async () => {
    await store(keys.nodeName('n1'), '{"claims":"mine"}');
    expect(await cluster.get(keys.nodeName('n1'))).to.deep.equal({ claims: [{ tenant: TENANT, since: AT }] });
    await store(keys.nodeName('nobody'), '[');
    expect(await cluster.store.get(keys.nodeName('nobody'))).to.equal(undefined);

    const second = { tenant: 't2', since: AT };
    await cluster.put(keys.tenant('t2'), { id: 't2', name: 'two', createdAt: AT, platform: false });
    await store(keys.nodeName('n1'), JSON.stringify({ claims: [{ tenant: 7, since: AT }, second] }));
    expect(await cluster.get(keys.nodeName('n1')), 'a claim that can be read stays').to.deep.equal({
      claims: [{ tenant: TENANT, since: AT }, second],
    });
  });
});
