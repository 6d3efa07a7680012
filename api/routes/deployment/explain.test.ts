import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { NodeCondition, StoredNode } from '../../../crds/node/index.js';
import { computeTemplateHash, type Replica } from '../../../crds/replica/index.js';
import { create, replace, value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

const AT = '2030-01-01T00:00:00.000Z';

interface Candidate {
  readonly node: string;
  readonly replicas: number;
  readonly rank: number | null;
  readonly reasons: readonly {
    readonly filter: string;
    readonly required: string;
    readonly reported: string;
    readonly inTheWay?: readonly object[];
  }[];
  readonly whyHere?: string;
}

describe('explaining placement', () => {
  let lab: ApiLab;
  let token: string;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'viewer');
  });
  afterEach(() => lab.stop());

  const node = async (tenant: string, name: string, status: NodeCondition, labels: StoredNode['labels'] = {}) => {
    const id = `node_${name}`;
    const record: StoredNode = {
      metadata: { tenant, uid: id, generation: 1, createdAt: AT, updatedAt: AT, specHash: '' },
      id,
      name,
      labels,
      capacity: { cpu: 4000, memory: 8 * 2 ** 30, disk: 0 },
      publicKey: '',
      controlPlane: false,
      agentVersion: '0',
    };
    await create(lab.store, keys.node(tenant, name), record);
    await create(lab.store, keys.nodeStatus(tenant, name), { id, status, reason: 'heartbeat_received', since: AT });
  };
  const store = (more: object = {}) => {
    const metadata = { tenant: lab.a, uid: 'dep_1', generation: 1, createdAt: AT, updatedAt: AT, specHash: '' };
    return create(lab.store, keys.deployment(lab.a, 'web'), {
      metadata,
      ...webDeployment(),
      secretsVersion: 0,
      ...more,
    });
  };
  /** One that waits for a node. */
  const replica = (more: Partial<Replica> = {}): Replica => ({
    uid: 'r0',
    tenant: lab.a,
    deployment: 'web',
    deploymentUid: 'dep_1',
    slot: 0,
    generation: 1,
    templateHash: 'h',
    template: { image: 'web:1', secretsVersion: 0 },
    createdAt: AT,
    ...more,
  });
  const putReplica = (made: Replica) => create(lab.store, keys.replica(made.tenant, made.deployment, made.slot), made);
  const setQuota = async (quotas: object) => {
    const entry = (await lab.store.get(keys.tenant(lab.a)))!;
    await replace(lab.store, entry, { ...value<object>(entry), quotas });
  };
  const explain = async () => {
    const { status, body } = await lab.ask('GET', '/api/v1/deployments/web/explain', { token });
    return { status, body, candidates: (body['candidates'] ?? []) as readonly Candidate[] };
  };

  it('names every node of the tenant and no other, with every reason', async () => {
    await node(lab.a, 'german', 'ready', { 'mooring.io/country': 'DE' });
    await node(lab.a, 'french', 'failed', { 'mooring.io/country': 'FR' });
    await node(lab.b, 'foreign', 'ready', { 'mooring.io/country': 'DE' });
    await store({ placement: { residency: { country: 'DE' } } });
    const { status, body, candidates } = await explain();

    expect(status).to.equal(200);
    expect(candidates.map(each => [each.node, each.rank, each.reasons.map(({ filter }) => filter)])).to.deep.equal([
      ['french', null, ['ready', 'residency']],
      ['german', 1, []],
    ]);
    expect(candidates[0]?.reasons[1]).to.include({ required: 'country DE', reported: 'country FR' });
    expect(body).to.include({ able: 1, summary: '1 of 2 nodes: 1 not ready and residency' });
    expect(body['filters']).to.include.members(['tenant', 'anti_affinity', 'quota']);
  });

  it('says why a replica is where it is', async () => {
    await node(lab.a, 'one', 'ready');
    await store({ placement: { antiAffinity: { self: true, deployments: [], topologyKey: 'node' } } });
    await create(lab.store, keys.replica(lab.a, 'web', 0), { ...replica(), nodeId: 'node_one' });
    const { candidates } = await explain();

    expect(candidates[0]).to.include({ replicas: 1, rank: null });
    expect(candidates[0]?.whyHere).to.match(/^every filter accepts it/);
  });

  it('[6.2] says why no node takes the third of three replicas that must be apart, and who is there', async () => {
    for (const name of ['one', 'two']) await node(lab.a, name, 'ready');
    await store({ replicas: 3, placement: { antiAffinity: { self: true, deployments: [], topologyKey: 'node' } } });
    await putReplica(replica({ nodeId: 'node_one' }));
    await putReplica(replica({ uid: 'r1', slot: 1, nodeId: 'node_two' }));
    await putReplica(replica({ uid: 'r2', slot: 2 }));

    const { body, candidates } = await explain();
    expect(body).to.include({ able: 0, summary: '0 of 2 nodes: 2 anti_affinity' });
    expect(candidates.map(each => each.reasons.map(({ filter, inTheWay }) => [filter, inTheWay]))).to.deep.equal([
      [['anti_affinity', [{ deployment: 'web', replica: 0, holds: '' }]]],
      [['anti_affinity', [{ deployment: 'web', replica: 1, holds: '' }]]],
    ]);
  });

  it('names who holds the host port and the largest users of a node, with figures of now', async () => {
    await node(lab.a, 'one', 'ready');
    await store({
      replicas: 2,
      resources: { cpu: '3' },
      ports: [{ containerPort: 80, hostPort: 80, protocol: 'tcp' }],
    });
    const template = { image: 'web:1', secretsVersion: 0, resources: { cpu: '3' } };
    const ports = [{ containerPort: 1, hostPort: 80, protocol: 'tcp' } as const];
    await putReplica(replica({ nodeId: 'node_one', template: { ...template, ports } }));
    await putReplica(replica({ uid: 'r1', slot: 1 }));
    const small = { ...template, resources: { cpu: '500m' } };
    const retiringSince = AT;
    await putReplica(replica({ uid: 'r9', deployment: 'api', template: small, nodeId: 'node_one', retiringSince }));

    const { candidates } = await explain();
    const [port, resources] = candidates[0]!.reasons;
    expect(port).to.deep.include({ filter: 'port', inTheWay: [{ deployment: 'web', replica: 0, holds: '80/tcp' }] });
    expect(resources).to.deep.include({
      filter: 'resources',
      reported: '500m cpu free',
      inTheWay: [
        { deployment: 'web', replica: 0, holds: '3000m cpu' },
        { deployment: 'api', replica: 0, holds: '500m cpu', isLeaving: true },
      ],
    });
    expect(candidates[0]?.whyHere).to.include('free: cpu 0.5 of 4');
  });

  it('names the largest users of a quota, of the own tenant only', async () => {
    await node(lab.a, 'own', 'ready');
    await node(lab.b, 'foreign', 'ready');
    await setQuota({ containers: 2 });
    await store({ replicas: 1 });
    await putReplica(replica());
    const big = { deployment: 'big', nodeId: 'node_gone' };
    for (const slot of [0, 1]) await putReplica(replica({ ...big, uid: `b${slot}`, slot }));
    await putReplica(replica({ tenant: lab.b, deployment: 'foreign', nodeId: 'node_gone' }));

    const { candidates, body } = await explain();
    expect(candidates[0]?.reasons[0]).to.deep.include({
      filter: 'quota',
      inTheWay: [{ deployment: 'big', holds: '2 containers' }],
    });
    expect(JSON.stringify(body)).not.to.include('foreign');
  });

  it('names a job that is in the way as a job, and does not count its own attempt against it', async () => {
    await node(lab.a, 'one', 'ready');
    await store({ replicas: 1, resources: { cpu: '3' } });
    await putReplica(replica());
    const template = { image: 'batch:1', secretsVersion: 0, resources: { cpu: '3' } };
    await putReplica(replica({ uid: 'j0', deployment: 'job.batch', slot: 1, nodeId: 'node_one', template }));
    const metadata = { tenant: lab.a, uid: 'job_1', generation: 1, createdAt: AT, updatedAt: AT, specHash: '' };
    const job = { metadata, kind: 'Job', name: 'batch', image: 'batch:1', backoffLimit: 0, resources: { cpu: '3' } };
    await create(lab.store, keys.job(lab.a, 'batch'), job);

    const { candidates } = await explain();
    expect(candidates[0]?.reasons[0]).to.deep.include({
      filter: 'resources',
      inTheWay: [{ job: 'batch', attempt: 1, holds: '3000m cpu' }],
    });
    const ofJob = await lab.ask('GET', '/api/v1/jobs/batch/explain', { token: await lab.tenantToken(lab.a, 'viewer') });
    expect(ofJob.body).to.deep.include({ able: 1, summary: '1 of 1 node' });
  });

  it('says what keeps replicas of an older template that is kept from a node, and those of the present one too', async () => {
    await node(lab.a, 'one', 'ready');
    const ports = [{ containerPort: 80, hostPort: 80, protocol: 'tcp' }] as const;
    const rollout = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '10m', autoRollback: true, paused: true };
    await store({ rollout, ports });
    const older = { image: 'web:0', secretsVersion: 0, resources: { cpu: '8' } };
    await putReplica(replica({ template: older }));
    expect((await explain()).body).to.include({ able: 0, summary: '0 of 1 node: 1 resources', unplaced: 1 });

    const holder = { image: 'api', secretsVersion: 0, ports };
    await putReplica(replica({ uid: 'a0', deployment: 'api', nodeId: 'node_one', template: holder }));
    const template = { image: String(webDeployment()['image']), secretsVersion: 0, ports };
    const templateHash = computeTemplateHash({ kind: 'Deployment', name: 'web', replicas: 1, ...template });
    await putReplica(replica({ uid: 'r1', slot: 1, template, templateHash }));
    const { body, candidates } = await explain();
    expect(body).to.include({ able: 0, summary: '0 of 1 node: 1 resources and port', unplaced: 2 });
    expect(candidates[0]?.reasons[1]?.inTheWay).to.deep.equal([{ deployment: 'api', replica: 0, holds: '80/tcp' }]);
  });

  it('names a node by its name where the deployment names it by id', async () => {
    for (const name of ['one', 'two']) await node(lab.a, name, 'ready');
    await store({ nodeId: 'node_two' });
    const { candidates } = await explain();
    expect(candidates[0]?.reasons[0]).to.include({ filter: 'named_node', required: 'two', reported: 'one' });
  });

  it('answers in a dry run whether a change would place the pending replicas', async () => {
    await node(lab.a, 'small', 'ready');
    await store({ replicas: 1, resources: { cpu: '8' } });
    await create(lab.store, keys.replica(lab.a, 'web', 0), replica());
    const deployer = await lab.tenantToken(lab.a, 'deployer');
    const dryRun = async (body: object) => {
      const path = '/api/v1/deployments/web?dryRun=true';
      const answer = await lab.ask('PUT', path, { token: deployer, body });
      return answer.body['placement'] as Record<string, unknown>;
    };

    expect(await dryRun({ resources: { cpu: '6' } })).to.deep.include({ able: 0, next: [], unplaced: 1 });
    const helped = await dryRun({ resources: { cpu: '2' } });
    expect(helped).to.deep.include({ able: 1, next: ['small'], unplaced: 0 });
    const { next: _, unplaced: __, ...shown } = helped;
    expect((await explain()).body, 'in the shape of any explanation').to.include.all.keys(Object.keys(shown));
  });

  it('answers a missing deployment like one of another tenant', async () => {
    expect((await explain()).status).to.equal(404);
    await create(lab.store, keys.deployment(lab.b, 'web'), { metadata: { uid: 'dep_2', tenant: lab.b } });
    expect((await explain()).body).to.include({ code: 'deployment_not_found' });
  });

  it('[4.26] answers which regions are declared, and whether residency is enforced', async () => {
    const { status, body } = await lab.ask('GET', '/api/v1/scheduler/regions', { token });
    const regions = body['regions'] as readonly { name: string; countries: readonly string[] }[];

    expect([status, body['enforcement']]).to.deep.equal([200, true]);
    expect(regions.map(({ name }) => name)).to.deep.equal(['eu', 'eea', 'uk', 'us', 'ca', 'apac']);
    expect(regions[0]?.countries).to.include('DE').and.not.include('GB');
  });
});
