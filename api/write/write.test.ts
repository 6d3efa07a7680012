import { keys, ranges } from '../../crds/keys/index.js';
import { type ApiLab, webDeployment } from '../api-lab.testing.js';
import { describeWrites, type MeddledLab, type RowRequest, seed, type WriteRow } from './write.contract.js';

const NODE = `node_${'1'.repeat(26)}`;
const own = (range: string) => (lab: ApiLab) => ranges.of(range, lab.a);
const web: RowRequest = { method: 'POST', path: 'deployments', body: webDeployment() };
const withWeb = async (lab: MeddledLab) => void (await lab.send(web));
const withNode = async (lab: ApiLab) =>
  void (await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName: 'machine-1' }));
const withNamedNode = async (lab: ApiLab) => {
  await withNode(lab);
  const since = new Date(0).toISOString();
  await seed(lab, keys.nodeName('machine-1'), { claims: [{ tenant: lab.a, since }] });
};
const job = { kind: 'Job', name: 'once', image: 'registry.example.com/shop/web:1.4.2' };
const network = { name: 'back', driver: 'bridge', nodeId: 'machine-1' };
const volume = { name: 'data', class: 'ephemeral', sizeBytes: 2 ** 20 };

const never = { because: 'it is not created under a name' };
const minted = { because: 'every one has a name of its own' };
const made = { because: 'it is there with what it belongs to' };
const fixed = { because: 'it is not changed: it is removed and created again' };
const silent = { because: 'nobody is told of it' };

/** Each way to write, once. What the contract leaves out here stands in the title of a test that says why. */
const rows: readonly WriteRow[] = [
  {
    kind: 'deployments',
    range: own(ranges.deployments),
    create: web,
    quota: { because: 'what is beyond the quota is stored, and waits' },
    taken: 'deployment_already_exists',
    replace: { method: 'PUT', path: 'deployments/web', body: webDeployment('web', { replicas: 3 }) },
    remove: { method: 'DELETE', path: 'deployments/web' },
    event: true,
  },
  {
    kind: 'jobs',
    range: own(ranges.jobs),
    create: { method: 'POST', path: 'jobs', body: job },
    quota: { because: 'what is beyond the quota is stored, and waits' },
    taken: 'resource_already_exists',
    replace: fixed,
    remove: { method: 'DELETE', path: 'jobs/once' },
    event: true,
  },
  {
    kind: 'networks',
    range: own(ranges.networks),
    prepare: withNode,
    create: { method: 'POST', path: 'networks', body: network },
    quota: { quota: 'networks=1', another: { ...network, name: 'front' } },
    taken: 'resource_already_exists',
    replace: fixed,
    remove: { method: 'DELETE', path: 'networks/back' },
    event: true,
  },
  {
    kind: 'volumes',
    range: own(ranges.volumes),
    create: { method: 'POST', path: 'dvm/volumes', body: volume },
    quota: { quota: 'volumes=1', another: { ...volume, name: 'other' } },
    taken: 'resource_already_exists',
    replace: { because: 'only a volume that serves is resized: api/routes/volume/routes.test.ts' },
    remove: { method: 'DELETE', path: ({ id }) => `dvm/volumes/${id as string}` },
    event: true,
  },
  {
    kind: 'backups',
    range: own(ranges.backups),
    prepare: withWeb,
    create: { method: 'POST', path: 'backups', body: { deploymentName: 'web' } },
    quota: { quota: 'backups=1', another: { deploymentName: 'web' } },
    taken: minted,
    replace: fixed,
    remove: { method: 'DELETE', path: ({ id }) => `backups/${id as string}` },
    event: true,
    // A dry run shows a copy of its own, and the content stands beside the record.
    computed: ['id', 'createdAt', 'checksum', 'spec', 'scalingPolicy', 'canaryState', 'revisions', 'revisionsOmitted'],
  },
  {
    kind: 'scaling policies',
    range: own(ranges.scalingPolicies),
    prepare: async lab => {
      const resources = { cpu: '100m', memory: '64Mi' };
      await lab.send({ ...web, body: webDeployment('web', { resources }) });
    },
    create: {
      method: 'PUT',
      path: 'deployments/web/scaling',
      body: { minReplicas: 1, maxReplicas: 3, targetCpuPercent: 70 },
    },
    quota: { because: 'it has none of its own' },
    taken: { because: 'what another server has set meanwhile is replaced' },
    replace: {
      method: 'PUT',
      path: 'deployments/web/scaling',
      body: { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 70 },
    },
    remove: { method: 'DELETE', path: 'deployments/web/scaling' },
    event: true,
  },
  {
    kind: 'canary orders',
    range: own(ranges.canaryOrders),
    create: { because: 'a canary is held by the replica keeper: api/routes/deployment/canary.test.ts' },
    taken: never,
    replace: made,
    remove: { because: 'the replica keeper removes it' },
    event: silent,
  },
  {
    kind: 'tokens',
    range: () => ranges.tokens,
    create: { method: 'POST', path: 'tokens', body: { kind: 'tenant', role: 'viewer', description: 'reads' } },
    quota: { because: 'tokens have none' },
    taken: minted,
    replace: fixed,
    remove: { method: 'DELETE', path: ({ id }) => `tokens/${id as string}` },
    event: silent,
    computed: ['lifeSeconds'],
  },
  {
    kind: 'join tokens',
    range: () => ranges.tokens,
    create: { method: 'POST', path: 'nodes/join-tokens', body: { nodeName: 'machine-1' } },
    taken: minted,
    replace: fixed,
    remove: { because: 'it is a token like any other' },
    event: silent,
    computed: ['lifeSeconds'],
  },
  {
    kind: 'tenants',
    as: 'platform',
    range: () => ranges.tenants,
    create: { method: 'POST', path: 'tenants', body: { name: 'shop' } },
    taken: minted,
    replace: fixed,
    remove: { method: 'DELETE', path: ({ id }) => `tenants/${id as string}` },
    event: silent,
  },
  {
    kind: 'quotas',
    as: 'platform',
    range: lab => keys.tenant(lab.a),
    create: made,
    taken: never,
    replace: { method: 'PUT', path: (_made, lab) => `tenants/${lab.a}/quotas`, body: { deployments: 5 } },
    remove: { because: 'limits that are not sent are as configured' },
    event: { because: 'the event comes with a change: api/routes/tenant/routes.test.ts' },
  },
  {
    kind: 'automatic growth',
    range: lab => keys.tenant(lab.a),
    create: made,
    taken: never,
    replace: { method: 'PUT', path: 'dvm/recommendations/auto-apply', body: { growth: true } },
    remove: { because: 'it is switched off by a change' },
    event: { because: 'the event comes with a change: api/routes/recommendation/routes.test.ts' },
  },
  {
    kind: 'orders to nodes',
    range: lab => keys.node(lab.a, 'machine-1'),
    prepare: withNode,
    create: made,
    taken: never,
    replace: { method: 'POST', path: `nodes/${NODE}/drain` },
    remove: { because: 'a node is removed with its claim, below' },
    event: { because: 'the event comes with a change: api/routes/node/routes.test.ts' },
  },
  {
    kind: 'claims to machines',
    range: () => keys.nodeName('machine-1'),
    prepare: withNamedNode,
    create: { because: 'an agent enrols its machine: api/routes/node/enrol.etcd.test.ts' },
    taken: never,
    replace: { because: 'api/routes/node/claims.test.ts' },
    remove: { because: 'the answer is that no claim is left: api/routes/node/claims.test.ts' },
    event: silent,
  },
  {
    kind: 'secrets',
    range: own(ranges.secrets),
    create: {
      because:
        'a version and its event are two steps, since the secrets store may be another one: api/routes/secret/routes.test.ts',
    },
    taken: never,
    replace: { because: 'every write is a version of its own' },
    remove: {
      because: 'the conflict key is stored, and then the secrets store destroys it: api/routes/secret/routes.test.ts',
    },
    event: { because: 'the secrets store may be another one than etcd' },
  },
  {
    kind: 'rotations',
    range: own(ranges.rotations),
    create: { because: 'its material is staged after it: api/routes/rotation/routes.test.ts' },
    taken: never,
    replace: { because: 'the next phase depends on the rotation phaser' },
    remove: { because: 'it is aborted' },
    event: { because: 'the rotation phaser announces what it carries out' },
  },
];

describeWrites(rows);
