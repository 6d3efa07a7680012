import { generateKeyPairSync, sign } from 'node:crypto';

import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { AdvertisedCondition, NodeStatus, StoredNode } from '../../../crds/node/index.js';
import { type EnrolReply, formatEnrolmentText } from '../../../pkg/link/index.js';
import { create, value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';

const capacity = { cpu: 4000, memory: 8 * 2 ** 30, disk: 100 * 2 ** 30 };

const own = generateKeyPairSync('ed25519');

function enrolment(nodeName: string, more: object = {}, { publicKey, privateKey } = own): object {
  const text = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const proof = sign(null, Buffer.from(formatEnrolmentText(nodeName, text)), privateKey).toString('base64');
  return { nodeName, labels: {}, capacity, publicKey: text, agentVersion: '0.1.0', proof, ...more };
}

describe('node orders and deletion', () => {
  let lab: ApiLab;
  let admin: string;
  let platform: string;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    admin = await lab.tenantToken(lab.a);
    platform = (await lab.token({ kind: 'admin' })).text;
  });
  afterEach(() => lab.stop());

  const post = (path: string, token = admin, headers = {}) =>
    lab.ask('POST', `/api/v1/nodes/${path}`, { token, headers });
  const enrol = async (nodeName: string, by = admin, more: object = {}) => {
    // Only the platform says that the control plane runs on a node.
    const asPlatform = 'controlPlane' in more ? { token: platform, headers: { 'x-tenant-id': lab.a } } : { token: by };
    const { body } = await lab.ask('POST', '/api/v1/nodes/join-tokens', { ...asPlatform, body: {} });
    return lab.ask('POST', '/api/v1/nodes', { token: body['token'] as string, body: enrolment(nodeName, more) });
  };
  const enrolled = async (nodeName = 'machine-1', more: object = {}) => {
    const reply = (await enrol(nodeName, admin, more)).body as unknown as EnrolReply;
    lab.nodeKeys.set(reply.token, own.privateKey);
    return reply;
  };
  const sendHeartbeat = ({ token }: EnrolReply) =>
    lab.ask('POST', '/agent/v1/heartbeat', { token, body: { labels: {}, capacity, agentVersion: '0.1.0' } });
  const shown = async (id = 'machine-1', token = admin) =>
    (await lab.ask('GET', `/api/v1/nodes/${id}`, { token })).body;
  const stored = async (tenant = lab.a) => {
    const entry = await lab.store.get(keys.node(tenant, 'machine-1'));
    return entry && value<StoredNode>(entry);
  };
  const place = (nodeId: string) =>
    create(lab.store, keys.replica(lab.a, 'web', 0), {
      uid: 'rep_0',
      tenant: lab.a,
      deployment: 'web',
      slot: 0,
      template: { image: 'a:1', secretsVersion: 0 },
      nodeId,
    });
  const say = (status: Partial<NodeStatus>) =>
    create(lab.store, keys.nodeStatus(lab.a, 'machine-1'), {
      status: 'ready',
      reason: 'heartbeat_received',
      since: '',
      ...status,
    });

  it('drain a node, show it as draining at once, and undrain it', async () => {
    const { node } = await enrolled();
    await say({ id: node.id });
    const drained = await post('machine-1/drain');
    const again = await post(`${node.id}/drain`);

    expect([drained.status, drained.body['status']]).to.deep.equal([200, 'draining']);
    expect(drained.body['schedulable']).to.deep.equal({ value: false, reason: 'draining' });
    expect(again.body['metadata']).to.deep.equal(drained.body['metadata']);
    expect((await post('machine-1/undrain')).body['schedulable']).to.deep.equal({ value: true, reason: 'ready' });
    expect(await stored()).to.not.have.property('orders');
    expect((await post('machine-1/undrain')).status).to.equal(200);
  });

  it('survive a heartbeat with new facts and another enrolment', async () => {
    const reply = await enrolled();
    await post('machine-1/drain');
    await lab.ask('POST', '/agent/v1/heartbeat', {
      token: reply.token,
      body: { labels: { disk: 'ssd' }, capacity, agentVersion: '0.2.0' },
    });

    expect((await stored())?.orders).to.have.nested.property('drain.by');
    expect((await stored())?.labels).to.deep.equal({ disk: 'ssd' });
  });

  it('fence a node until its next heartbeat', async () => {
    const reply = await enrolled();
    await sendHeartbeat(reply);
    expect(await lab.store.get(keys.alive(lab.a, 'machine-1'))).to.not.equal(undefined);
    const fenced = await post('machine-1/fence');

    expect(fenced.status).to.equal(200);
    expect((await stored())?.orders).to.have.nested.property('fence.by');
    expect(await lab.store.get(keys.alive(lab.a, 'machine-1'))).to.equal(undefined);
    await sendHeartbeat(reply);
    expect(await stored()).to.not.have.property('orders');
    expect(await lab.store.get(keys.alive(lab.a, 'machine-1'))).to.not.equal(undefined);
  });

  it('show a node whose agent cannot see its containers as one that takes no work', async () => {
    const { node } = await enrolled();
    const since = '2030-01-01T00:00:00.000Z';
    await say({ id: node.id, status: 'unready', reason: 'engine_unreachable', unobservedSince: since });

    expect(await shown()).to.deep.include({ status: 'unready', unobservedSince: since });
    const conditions = (await shown())['conditions'] as readonly AdvertisedCondition[];
    expect(conditions.find(({ type }) => type === 'EngineReady')).to.include({ status: 'False' });
    expect((await shown())['schedulable']).to.have.property('value', false);
  });

  it('refuse to fence the node that runs the control plane', async () => {
    await enrolled('machine-1', { controlPlane: true });

    expect((await post('machine-1/fence')).body['code']).to.equal('node_is_control_plane');
    expect((await shown())['schedulable']).to.deep.include({ value: false });
  });

  it('drain the node that runs the control plane', async () => {
    const { node } = await enrolled('machine-1', { controlPlane: true });
    await say({ id: node.id, status: 'draining', reason: 'drained' });
    await post('machine-1/drain');

    expect((await shown())['schedulable']).to.deep.equal({ value: false, reason: 'drained' });
  });

  for (const order of ['drain', 'undrain', 'fence']) {
    it(`accept ${order} from an administrator of the tenant only`, async () => {
      await enrolled();
      const deployer = await lab.tenantToken(lab.a, 'deployer');
      const foreign = await lab.tenantToken(lab.b);

      expect((await post(`machine-1/${order}`, deployer)).body['code']).to.equal('auth_forbidden');
      expect((await post(`machine-1/${order}`, foreign)).body['code']).to.equal('resource_not_found');
      expect((await post(`machine-1/${order}`, platform, { 'X-Tenant-ID': lab.a })).status).to.equal(200);
    });
  }

  const remove = (id = 'machine-1', token = admin) => lab.ask('DELETE', `/api/v1/nodes/${id}`, { token });

  it('delete a node, but not one that sends heartbeats and runs replicas', async () => {
    const reply = await enrolled();
    await sendHeartbeat(reply);
    await place(reply.node.id);
    const busy = await remove();
    expect([busy.status, busy.body['code']]).to.deep.equal([409, 'node_in_use']);

    await lab.store.commit({
      guards: [
        { key: keys.alive(lab.a, 'machine-1'), at: (await lab.store.get(keys.alive(lab.a, 'machine-1')))!.revision },
      ],
      puts: [],
      deletes: [keys.alive(lab.a, 'machine-1')],
    });
    expect((await remove()).status).to.equal(200);
    expect((await remove()).body['code']).to.equal('resource_not_found');
    expect(await lab.store.get(keys.nodeName('machine-1'))).to.equal(undefined);
    expect((await sendHeartbeat(reply)).status).to.equal(401);
    expect((await enrol('machine-1', await lab.tenantToken(lab.b))).status).to.equal(201);
  });

  it('delete a node only at the revision that If-Match names', async () => {
    await enrolled();
    const shown = await lab.ask('GET', '/api/v1/nodes/machine-1', { token: admin });
    const removeAt = (tag: string) =>
      lab.ask('DELETE', '/api/v1/nodes/machine-1', { token: admin, headers: { 'if-match': tag } });
    const refused = await removeAt('"1"');
    expect([refused.status, refused.body['code']]).to.deep.equal([412, 'revision_mismatch']);
    expect((await removeAt(shown.headers.get('etag')!)).status).to.equal(200);
  });

  it('answer a node of another tenant like one that does not exist', async () => {
    await enrolled();
    expect((await remove('machine-1', await lab.tenantToken(lab.b))).body['code']).to.equal('resource_not_found');
  });
});

describe('claims to a node', () => {
  let lab: ApiLab;
  let [a, b, platform] = ['', '', ''];
  beforeEach(async () => {
    lab = await new ApiLab().start();
    [a, b] = [await lab.tenantToken(lab.a), await lab.tenantToken(lab.b)];
    platform = (await lab.token({ kind: 'admin' })).text;
    expect((await enrol(a)).status).to.equal(201);
  });
  afterEach(() => lab.stop());

  const enrol = async (token: string, name = 'machine-1') => {
    const { body } = await lab.ask('POST', '/api/v1/nodes/join-tokens', { token, body: {} });
    const sent = enrolment(name, {}, generateKeyPairSync('ed25519'));
    return lab.ask('POST', '/api/v1/nodes', { token: body['token'] as string, body: sent });
  };
  const release = (token: string, tenant?: string) =>
    lab.ask('DELETE', '/api/v1/nodes/machine-1/claim', {
      token,
      ...(tenant && { headers: { 'X-Tenant-ID': tenant } }),
    });
  const claim = (tenant: string, token = platform) =>
    lab.ask('POST', '/api/v1/nodes/machine-1/claims', { token, headers: { 'X-Tenant-ID': tenant } });
  const listClaims = async (token: string) =>
    ((await lab.ask('GET', '/api/v1/nodes/machine-1', { token })).body['claims'] as { tenant: string }[])?.map(
      ({ tenant }) => tenant,
    );

  it('[4.34 5.3 7.4.6] are released only by a request that names the tenant', async () => {
    const before = await lab.store.revision();
    for (const token of [a, platform]) {
      const { status, body } = await release(token);
      expect([status, body['code'], body['field']]).to.deep.equal([400, 'node_claim_release_no_tenant', 'X-Tenant-ID']);
    }
    expect((await release(b, lab.a)).body['code']).to.equal('tenant_mismatch');
    expect((await release(b, lab.b)).body['code']).to.equal('resource_not_found');
    expect(await lab.store.revision(), 'nothing is stored').to.equal(before);
    expect(await listClaims(a)).to.deep.equal([lab.a]);
  });

  it('are released only at the revision of the node that If-Match names', async () => {
    const headers = { 'x-tenant-id': lab.a, 'if-match': '"1"' };
    const stale = await lab.ask('DELETE', '/api/v1/nodes/machine-1/claim', { token: a, headers });
    expect(stale.body['code'], stale.text).to.equal('revision_mismatch');
    expect(await listClaims(a)).to.deep.equal([lab.a]);
  });

  it('free the node name when the only claim is released', async () => {
    expect((await release(a, lab.a)).status).to.equal(200);
    expect((await lab.ask('GET', '/api/v1/nodes', { token: a })).body['items']).to.deep.equal([]);
    const events = (await lab.ask('GET', '/api/v1/events?type=node.claim_released', { token: a })).body['items'];
    expect(events).to.have.length(1);
    expect((await enrol(b)).status).to.equal(201);
  });

  it('[2.8.4] can be recorded for a second tenant, by administrators only, and grant it no access', async () => {
    expect((await claim(lab.b, b)).body['code']).to.equal('auth_forbidden');
    expect((await claim(lab.b)).status).to.equal(201);
    expect((await claim(lab.b)).status).to.equal(200);
    expect(await listClaims(a), 'who else claims it is not the owner’s business').to.deep.equal([lab.a]);
    expect((await lab.ask('GET', '/api/v1/nodes/machine-1', { token: b })).status).to.equal(404);
    expect((await enrol(b)).body['code']).to.equal('node_owned_by_another_tenant');
  });

  it('[2.8.4] are at most two, and only to an enrolled machine', async () => {
    const third = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';
    await lab.tenant(third);
    await claim(lab.b);
    expect((await claim(third)).body['code']).to.equal('node_claims_full');
    const { body } = await lab.ask('POST', '/api/v1/nodes/nobody/claims', {
      token: platform,
      headers: { 'X-Tenant-ID': lab.b },
    });
    expect(body['code']).to.equal('resource_not_found');
  });

  it('[2.8.5] hand the node over when the claim of the owner is released', async () => {
    await claim(lab.b);
    expect((await release(a, lab.a)).status).to.equal(200);
    const mine = await lab.ask('GET', '/api/v1/nodes/machine-1', { token: a });
    const theirs = await lab.ask('GET', '/api/v1/nodes/machine-1', { token: b });

    expect(mine.status).to.equal(404);
    expect(theirs.body).to.include({ name: 'machine-1', tenant: lab.b, status: 'joining' });
    expect(await listClaims(b)).to.deep.equal([lab.b]);
    expect((await enrol(a)).body['code']).to.equal('node_owned_by_another_tenant');
  });

  it('hand over the machine without its key: the new owner’s agent brings its own', async () => {
    await claim(lab.b);
    await release(a, lab.a);
    const { body } = await lab.ask('GET', '/api/v1/nodes/machine-1', { token: b });
    const entry = await lab.store.get(keys.node(lab.b, 'machine-1'));
    expect(value<StoredNode>(entry!).publicKey, 'the old owner’s key opens nothing').to.equal('');

    const enrolled = await enrol(b);
    expect([enrolled.status, (enrolled.body['node'] as { id: string }).id]).to.deep.equal([200, body['id']]);
    expect((await enrol(b)).body['code'], 'from now on it is bound').to.equal('node_key_mismatch');
  });

  it('hand over no node above the quota of the new owner: the claim waits until the quota allows it', async () => {
    const quota = (nodes: number) =>
      lab.ask('PUT', `/api/v1/tenants/${lab.b}/quotas`, { token: platform, body: { nodes } });
    expect((await quota(1)).status).to.equal(200);
    expect((await enrol(b, 'machine-2')).status).to.equal(201);
    const warnings = (await claim(lab.b)).body['warnings'] as { code: string }[];
    expect(warnings.map(({ code }) => code)).to.deep.equal(['quota_reached']);
    expect((await release(a, lab.a)).body['claims']).to.deep.equal([]);

    expect((await lab.ask('GET', '/api/v1/nodes/machine-1', { token: b })).status).to.equal(404);
    expect((await enrol(b)).body['code']).to.equal('quota_reached');
    expect((await enrol(a)).body['code']).to.equal('node_owned_by_another_tenant');
    await quota(2);
    expect((await enrol(b)).status).to.equal(201);
    expect(await listClaims(b)).to.deep.equal([lab.b]);
  });

  it('[2.8.5] leave the node unchanged when the second claim is released', async () => {
    await claim(lab.b);
    expect((await release(b, lab.b)).status).to.equal(200);
    expect(await listClaims(a)).to.deep.equal([lab.a]);
  });

  it('are not released while the owner runs replicas on the node', async () => {
    const { body } = await lab.ask('GET', '/api/v1/nodes/machine-1', { token: a });
    await create(lab.store, keys.replica(lab.a, 'web', 0), {
      uid: 'r',
      tenant: lab.a,
      nodeId: body['id'],
      template: {},
    });
    await create(lab.store, keys.alive(lab.a, 'machine-1'), { id: body['id'], lease: '1', since: '' });

    expect((await release(a, lab.a)).body['code']).to.equal('node_in_use');
  });
});
