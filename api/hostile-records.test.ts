import { get } from 'node:http';

import { expect } from 'chai';

import { keys } from '../crds/keys/index.js';
import { listHostile, sampleCases } from '../dev/testing/index.js';
import { type Clock, systemClock } from '../pkg/clock/index.js';
import { encode, findRecordFault, value } from '../pkg/store/index.js';
import { ApiLab, webDeployment } from './api-lab.testing.js';

const AT = '2030-01-01T00:00:00.000Z';
const PATH = 'deployments/db';
/** Ranges that objects below /k8s are made from. */
const FACED = /^(?:(?:deployments|status|events|backups|tenants|alive)$|job|network|node)/;
/** Ranges that the log of a job is found by. */
const LOGGED: ReadonlySet<string> = new Set(['jobs', 'job-status', 'replicas', 'reports', 'nodes']);

/** No node of the lab has kept a log: the time they are given to say so passes at once. */
const clock: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms === 1_500 ? 0 : ms, fire) };

/** The status that a stream is opened with. With request() of undici, opening and breaking off take more work. */
function openAndLeave(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { headers }, answer => {
      resolve(answer.statusCode!);
      asked.destroy();
    });
    asked.on('error', reject);
  });
}

/** Keys of every range that answers are made from, each with a sound document where the lab has none. */
function listSubjects(tenant: string, ids: Readonly<Record<'uid' | 'job' | 'node' | 'backup' | 'token', string>>) {
  const { uid, job, node, backup, token } = ids;
  const replica = {
    uid: 'rep-1',
    tenant,
    deployment: 'web',
    deploymentUid: uid,
    slot: 0,
    generation: 1,
    templateHash: 'h',
    template: { image: 'web:1', secretsVersion: 0, resources: { cpu: '1' } },
    nodeId: node,
    createdAt: AT,
  };
  const report = {
    replica: 'rep-1',
    deployment: 'web',
    slot: 0,
    nodeId: node,
    templateHash: 'h',
    state: 'running',
    health: 'none',
    restarts: 0,
    at: AT,
  };
  const status = {
    uid,
    phase: 'Running',
    message: 'm',
    replicas: 1,
    readyReplicas: 1,
    updatedReplicas: 1,
    observedGeneration: 1,
    revision: 1,
    secretsVersion: 0,
    placements: [{ replica: 0 }],
    conditions: [],
  };
  const rotation = {
    id: 'rot_1',
    path: PATH,
    phase: 'stage',
    from: 0,
    to: 1,
    material: { by: 'platform' },
    deployment: 'web',
    by: 'me',
    askedAt: AT,
  };
  const progress = { id: 'rot_1', phase: 'stage', holds: true, staged: true, raised: {}, returned: {}, at: AT };
  const event = {
    id: 'evt_1',
    type: 'deployment.created',
    at: AT,
    lastSeenAt: AT,
    count: 1,
    tenant,
    severity: 'info',
    subject: { kind: 'Deployment', name: 'web', id: uid },
    reason: 'created',
    message: 'm',
    data: {},
  };
  const intent = {
    state: 'writing',
    tenant,
    subject: 'x',
    operation: 'o',
    at: AT,
    writes: [{ path: PATH, version: 9 }],
  };
  const jobStatus = {
    uid: job,
    phase: 'Failed',
    message: 'm',
    attempts: 1,
    exitCode: 3,
    finishedAt: AT,
    history: [{ attempt: 0, uid: 'a0', state: 'Failed', nodeId: node, exitCode: 3, finishedAt: AT, storedAt: AT }],
  };
  const scheduling = { uid, unplaced: 1, summary: 's', filters: [], cause: 'c', details: 'd', lastSeenAt: AT };
  const network = {
    metadata: { tenant, uid: 'net_1', generation: 1, createdAt: AT, updatedAt: AT, specHash: 'h' },
    name: 'back',
    driver: 'bridge',
    labels: { tier: 'data' },
    internal: true,
    nodeId: node,
  };
  const seenNetwork = { uid: 'net_1', state: 'ready', reason: 'network_ready', message: 'm', node: 'n1', since: AT };
  const former = { deployments: [{ uid: 'dep_0', lastRevision: 3, deletedAt: AT }] };
  const alive = { id: node, lease: '1', since: AT, run: 'f' };
  return {
    deployments: [keys.deployment(tenant, 'web')],
    replicas: [keys.replica(tenant, 'web', 0), replica],
    reports: [keys.report(tenant, node, 'rep-1'), report],
    status: [keys.status(tenant, 'web'), status],
    jobs: [keys.job(tenant, 'migrate')],
    'job-status': [keys.jobStatus(tenant, 'migrate'), jobStatus],
    scheduling: [keys.scheduling(tenant, 'web'), scheduling],
    networks: [keys.network(tenant, 'back'), network],
    'network-status': [keys.networkStatus(tenant, 'back'), seenNetwork],
    'network-reports': [keys.networkReport(tenant, 'back'), { uid: 'net_1', state: 'ready', at: AT }],
    'canary-orders': [keys.canaryOrder(tenant, 'web'), { uid, contentHash: 'h', action: 'abort', by: 'tok', at: AT }],
    nodes: [keys.node(tenant, 'n1')],
    'node-status': [
      keys.nodeStatus(tenant, 'n1'),
      { id: node, status: 'ready', reason: 'heartbeat_received', since: AT },
    ],
    alive: [keys.alive(tenant, 'n1'), alive],
    'node-names': [keys.nodeName('n1'), { claims: [{ tenant, since: AT }] }],
    rotations: [keys.rotation(tenant, 'db'), rotation],
    'rotation-progress': [keys.rotationProgress(tenant, 'db'), progress],
    intents: [keys.intent(tenant, 'i1'), intent],
    events: [keys.event(tenant, 'evt_1'), event],
    archives: [keys.archive(tenant, uid, 1)],
    'former-deployments': [keys.formerDeployments(tenant, 'gone'), former],
    backups: [keys.backup(tenant, backup)],
    'backup-contents': [keys.backupContent(tenant, backup)],
    tenants: [keys.tenant(tenant)],
    tokens: [keys.token(token)],
    leaders: [keys.leader('scheduler'), { holder: 'h', since: AT, lease: '1' }],
    'restore-epoch': [keys.restoreEpoch(), { epoch: 1, at: AT }],
    secrets: [keys.secret(tenant, 'deployments', 'db')],
    keyrings: [keys.secretKeyring()],
  } as const satisfies Record<string, readonly [key: string, sound?: unknown]>;
}

describe('the API beside a stored record that cannot be worked with', () => {
  const titles = Object.keys(listSubjects('t', { uid: 'u', job: 'j', node: 'n', backup: 'b', token: 'k' }));
  for (const title of sampleCases(8, titles as (keyof ReturnType<typeof listSubjects>)[])) {
    it(`answers every read and refuses or takes every write: ${title}`, async () => {
      const lab = await new ApiLab({ clock }).start();
      const token = await lab.tenantToken(lab.a);
      const admin = (await lab.token({ kind: 'admin' })).text;
      const other = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'viewer' });
      const agent = await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'n1' });
      const secrets = [{ name: 'DB', vault_path: PATH, anchor: 'process', rotation: 'restart' }];
      await lab.ask('PUT', `/api/v1/secrets/${PATH}`, { token, body: { values: { password: 'p' } } });
      const made = await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment('web', { secrets }) });
      expect(made.status, made.text).to.equal(201);
      const kept = await lab.ask('POST', '/api/v1/backups', { token, body: { deploymentName: 'web' } });
      expect(kept.status, kept.text).to.equal(201);
      const { uid } = made.body['metadata'] as { readonly uid: string };
      const migrate = { kind: 'Job', name: 'migrate', image: 'registry.example.com/shop/migrate:1', secrets };
      const begun = await lab.ask('POST', '/api/v1/jobs', { token, body: migrate });
      expect(begun.status, begun.text).to.equal(201);
      const { uid: job } = begun.body['metadata'] as { readonly uid: string };
      const ids = { uid, job, node: 'node_1', backup: String(kept.body['id']), token: other.stored.id };
      const [key, sound] = listSubjects(lab.a, ids)[title] as readonly [string, unknown?];
      const stored = await lab.store.get(key);
      const before = sound ?? (stored && value(stored));
      expect(before, 'a sound document to begin with').to.be.an('object');

      const one = `/api/v1/deployments/web`;
      const reads = [
        '/api/v1/deployments',
        one,
        `${one}/explain`,
        `${one}/secrets/rotation`,
        '/api/v1/jobs',
        '/api/v1/jobs/migrate',
        '/api/v1/jobs/migrate/explain',
        '/api/v1/nodes',
        '/api/v1/nodes/n1',
        '/api/v1/nodes/n1/replicas',
        '/api/v1/events?limit=5',
        '/api/v1/secrets',
        `/api/v1/secrets/${PATH}`,
        '/api/v1/secrets/resources',
        '/api/v1/tokens',
        '/api/v1/secrets/resources/db/consumers',
        `/api/v1/tenants/${lab.a}/quotas`,
        '/api/v1/networks',
        '/api/v1/networks/back',
        '/api/v1/archives/deployments/web',
        '/api/v1/archives/deployments/gone',
        '/api/v1/backups',
        `/api/v1/backups/${ids.backup}`,
        '/api/v1/config',
        '/healthz',
        '/readyz',
        '/metrics',
      ];
      const kinds = ['deployments', 'jobs', 'networks', 'nodes', 'backups'];
      const own = kinds.map(kind => `/k8s/apis/mooring.io/v1/${kind}`);
      const faced = FACED.test(title)
        ? ['/k8s/api/v1/namespaces', '/k8s/api/v1/events', '/k8s/api/v1/pods', ...own]
        : [];
      const watched = ['deployments', 'jobs', 'networks', 'nodes', 'events', 'backups', 'tokens', 'secrets/resources'];
      for (const [at, bytes] of listHostile(before, title.length, 6).entries()) {
        const put = async () => {
          const seen = await lab.store.get(key);
          const guards = [{ key, at: seen?.revision ?? 0 }];
          await lab.store.commit({ guards, puts: [{ key, bytes }], deletes: [] });
          await lab.cache.barrier();
        };
        const beside = bytes.toString('utf8').slice(0, 150);
        const ask = async (method: string, path: string, options: object = {}) => {
          const answer = await lab.ask(method, path, { token, ...options });
          const shown = `${method} ${path} beside ${beside}: ${answer.text.slice(0, 300)}`;
          // A sealed record that was altered is told as such, and is no fault of the server.
          if (answer.body['code'] !== 'secret_unreadable') expect(answer.status, shown).to.be.lessThan(500);
          return answer;
        };
        await put();
        for (const path of reads) await ask('GET', path);
        for (const accept of ['application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io'])
          for (const path of faced) await ask('GET', path, { headers: { accept } });
        if (LOGGED.has(title)) await ask('GET', '/api/v1/jobs/migrate/logs');
        for (const path of ['/api/v1/tenants', `/api/v1/tenants/${lab.a}/remains`]) {
          await ask('GET', path, { token: admin });
        }
        for (const path of [...watched.map(kind => `/api/v1/${kind}`), ...faced]) {
          const headers = { authorization: `Bearer ${token}` };
          expect(await openAndLeave(`${lab.server.url}${path}?watch=true`, headers), `watch of ${path}`).to.be.lessThan(
            500,
          );
        }
        await ask('POST', '/api/v1/deployments', { body: webDeployment(`other-${at}`, { secrets }) });
        await ask('POST', '/api/v1/deployments?dryRun=true', {
          body: webDeployment(`dry-${at}`, { dependsOn: [{ name: 'web', condition: 'started' }] }),
        });
        await ask('DELETE', `/api/v1/deployments/other-${at}`);
        await ask('POST', '/api/v1/jobs', { body: { ...migrate, name: `other-${at}` } });
        if (title.startsWith('job')) await ask('DELETE', '/api/v1/jobs/migrate');
        await ask('POST', `${one}/canary`, { body: { action: 'promote' } });
        await ask('POST', '/api/v1/deployments?dryRun=true', { body: webDeployment('joins', { networks: ['back'] }) });
        await ask('POST', '/api/v1/networks', { body: { name: `net-${at}`, nodeId: 'n1' } });
        if (title === 'networks') expect((await ask('DELETE', '/api/v1/networks/back')).status).to.equal(200);
        const beat = { labels: {}, capacity: { cpu: 1000, memory: 2 ** 30, disk: 2 ** 30 }, agentVersion: '0.1.0' };
        await ask('POST', '/agent/v1/heartbeat', { token: agent.text, body: beat });
        if (title !== 'deployments') await ask('POST', `${one}/secrets/rotate`, { body: { phase: 'stage' } });
        await ask('POST', '/api/v1/nodes/n1/drain');
        await ask('POST', '/api/v1/backups', { body: { deploymentName: 'web' } });
        await put();
        const again = await ask('PUT', one, { body: webDeployment('web', { secrets, replicas: 1 + (at % 3) }) });
        if (title === 'deployments') expect(again.status, again.text).to.equal(200);
        await put();
        const gone = await ask('DELETE', one);
        if (title === 'deployments') expect(gone.status, gone.text).to.equal(200);
        await lab.store.commit({
          guards: [
            { key: keys.deployment(lab.a, 'web'), at: (await lab.store.get(keys.deployment(lab.a, 'web')))!.revision },
          ],
          puts: [{ key: keys.deployment(lab.a, 'web'), bytes: encode(JSON.parse(made.text)) }],
          deletes: [],
        });
      }
      await lab.stop();
    });
  }
});

describe('a job whose records cannot be worked with', () => {
  for (const range of ['job', 'jobStatus'] as const) {
    it(`is shown as such, and can be deleted: ${range}`, async () => {
      const lab = await new ApiLab().start();
      const token = await lab.tenantToken(lab.a);
      const body = { kind: 'Job', name: 'migrate', image: 'registry.example.com/shop/migrate:1' };
      const made = await lab.ask('POST', '/api/v1/jobs', { token, body });
      const { metadata } = made.body as unknown as { metadata: { uid: string } };
      const sound = range === 'job' ? { metadata, ...body } : { uid: metadata.uid, phase: 'Running' };
      const key = keys[range](lab.a, 'migrate');
      for (const bytes of [...listHostile(sound, 3, 6), encode({ ...sound, image: 7, attempts: 'many' })]) {
        const at = (await lab.store.get(key))?.revision ?? 0;
        await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes }], deletes: [] });
        await lab.cache.barrier();
        const entry = lab.cache.get(key);
        if (entry && findRecordFault(entry) === undefined) continue;
        const shown = await lab.ask('GET', '/api/v1/jobs/migrate', { token });
        const explained = await lab.ask('GET', '/api/v1/jobs/migrate/explain', { token });
        const { items } = (await lab.ask('GET', '/api/v1/jobs', { token })).body as unknown as { items: object[] };
        for (const { status } of [shown.body, items[0]] as { status: { reason: string; message: string } }[]) {
          expect(status, bytes.toString()).to.include({ phase: 'Pending', reason: 'record_unusable' });
          expect(status.message).to.match(/cannot be worked with \(.*\): delete the job and create it again/);
        }
        expect(explained.body['message']).to.match(/cannot be worked with/);
      }
      const gone = await lab.ask('DELETE', '/api/v1/jobs/migrate', { token });
      expect(gone.status, gone.text).to.equal(200);
      await lab.stop();
    });
  }
});
