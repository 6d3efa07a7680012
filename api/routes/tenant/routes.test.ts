import { generateKeyPairSync, sign } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { expect } from 'chai';

import { keys, ranges } from '../../../crds/keys/index.js';
import { formatEnrolmentText } from '../../../pkg/link/index.js';
import { create } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

const key = generateKeyPairSync('ed25519');
const publicKey = key.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');

describe('quotas', () => {
  let lab: ApiLab;
  let [a, b, platform] = ['', '', ''];
  beforeEach(async () => {
    lab = await new ApiLab({
      settings: { quotas: ['containers=3', 'deployments=2', 'nodes=1', 'secrets=unlimited'] },
    }).start();
    [a, b] = [await lab.tenantToken(lab.a), await lab.tenantToken(lab.b)];
    platform = (await lab.token({ kind: 'admin' })).text;
  });
  afterEach(() => lab.stop());

  const path = (tenant = lab.a) => `/api/v1/tenants/${tenant}/quotas`;
  const read = (token = a, tenant = lab.a) => lab.ask('GET', path(tenant), { token });
  const set = (body: object, token = platform, tenant = lab.a) => lab.ask('PUT', path(tenant), { token, body });
  const kind = async (name: string) =>
    ((await read()).body['quotas'] as Record<string, { limit: number | null; used: number; set: string }>)[name];
  const make = (name: string, replicas: number) =>
    lab.ask('POST', '/api/v1/deployments', { token: a, body: { ...webDeployment(name), replicas } });
  const run = (slot: number) =>
    create(lab.store, keys.replica(lab.a, 'other', slot), {
      uid: `rep_${slot}`,
      nodeId: 'node_1',
      template: { image: 'a:1', secretsVersion: 0, resources: { cpu: '500m' } },
    });
  const codes = ({ body }: { body: Record<string, unknown> }) =>
    (body['warnings'] as { code: string; field: string }[]).map(({ code, field }) => `${code} ${field}`);

  it('are as configured, and show how much is used', async () => {
    await run(0);
    expect(await kind('containers')).to.deep.equal({ limit: 3, used: 1, set: 'configuration' });
    expect(await kind('cpu')).to.deep.equal({ limit: null, used: 500, set: 'configuration' });
    expect(await kind('jobs')).to.deep.equal({ limit: 200, used: 0, set: 'configuration' });
    expect(await kind('secrets')).to.include({ limit: null });
  });

  it('are set for one tenant by administrators only, and replace those set before', async () => {
    expect((await set({ containers: 5 }, a)).body['code']).to.equal('auth_forbidden');
    const answer = await set({ containers: 5, deployments: null });

    expect(answer.status).to.equal(200);
    expect(await kind('containers')).to.deep.equal({ limit: 5, used: 0, set: 'tenant' });
    expect(await kind('deployments')).to.include({ limit: null, set: 'tenant' });
    await set({});
    expect(await kind('containers')).to.include({ limit: 3, set: 'configuration' });
    expect((await lab.ask('GET', `/api/v1/tenants/${lab.a}`, { token: a })).body).to.not.have.property('quotas');
  });

  for (const [body, code] of [
    [{ containers: -1 }, 'field_invalid'],
    [{ containers: 'many' }, 'field_invalid'],
    [{ container: 1 }, 'field_unknown'],
  ] as const) {
    it(`are refused as ${JSON.stringify(body)}`, async () => {
      expect((await set(body)).body['code']).to.equal(code);
    });
  }

  it('are hidden from other tenants: the answer is that of a tenant that does not exist', async () => {
    const absent = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';
    expect((await read(b, lab.a)).body['code']).to.equal('resource_not_found');
    expect((await read(b, absent)).body['code']).to.equal('resource_not_found');
    expect((await set({}, platform, absent)).body['code']).to.equal('resource_not_found');
  });

  it('refuse no deployment when they are reached: it is stored with a warning', async () => {
    await Promise.all([run(0), run(1)]);
    expect(codes(await make('web', 1))).to.deep.equal([]);
    const beyond = await make('db', 2);

    expect([beyond.status, ...codes(beyond)]).to.deep.equal([201, 'quota_reached replicas']);
    const third = await make('cache', 0);
    expect([third.status, ...codes(third)]).to.deep.equal([201, 'quota_reached name']);
    const grown = await lab.ask('PUT', '/api/v1/deployments/web', { token: a, body: { replicas: 5 } });
    expect([grown.status, ...codes(grown)]).to.deep.equal([200, 'quota_reached replicas']);
  });

  const enrol = async (nodeName: string, at = lab) => {
    const { body } = await lab.ask('POST', '/api/v1/nodes/join-tokens', { token: a, body: {} });
    const proof = sign(null, Buffer.from(formatEnrolmentText(nodeName, publicKey)), key.privateKey).toString('base64');
    const capacity = { cpu: 1, memory: 1, disk: 1 };
    return at.ask('POST', '/api/v1/nodes', {
      token: body['token'] as string,
      body: { nodeName, labels: {}, capacity, publicKey, agentVersion: '0.1.0', proof },
    });
  };

  it('refuse a secret above their number, and accept a new version of an existing one', async () => {
    const write = (name: string, query = '') =>
      lab.ask('PUT', `/api/v1/secrets/deployments/${name}${query}`, { token: a, body: { values: { key: 'x' } } });
    await set({ secrets: 1 });
    expect((await write('one')).status).to.equal(201);
    for (const refused of [await write('two'), await write('two', '?dryRun=true')]) {
      expect([refused.status, refused.body['code'], refused.body['field']]).to.deep.equal([
        409,
        'quota_reached',
        'resource',
      ]);
    }
    expect((await write('one')).status).to.equal(200);
    expect(await kind('secrets')).to.include({ limit: 1, used: 1 });
    await set({ secrets: 2 });
    expect((await write('two')).status).to.equal(201);
  });

  it('refuse a node above their number, and accept another enrolment of an existing one', async () => {
    expect((await enrol('one')).status).to.equal(201);
    const second = await enrol('two');
    expect([second.status, second.body['code']]).to.deep.equal([409, 'quota_reached']);
    expect((await enrol('one')).status).to.equal(200);
    await set({ nodes: 2 });
    expect((await enrol('two')).status).to.equal(201);
  });

  it('hold when many nodes join at once, at several servers', async () => {
    const { store, keyring } = lab;
    const other = await new ApiLab({ store, keyring }).start();
    await set({ nodes: 5 });
    // Far enough from decision to commit that the servers decide at the same time.
    const commit = store.commit.bind(store);
    store.commit = change => setTimeout(5).then(() => commit(change));
    const machines = Array.from({ length: 20 }, (_, n) => enrol(`machine-${n}`, n % 2 === 0 ? lab : other));
    const answers = await Promise.all(machines);
    await other.stop();
    const refused = answers.filter(({ status }) => status !== 201);

    expect(refused.map(({ status, body }) => `${status} ${body['code'] as string}`)).to.deep.equal(
      Array.from({ length: 15 }, () => '409 quota_reached'),
    );
    expect((await lab.store.list(ranges.of(ranges.nodes, lab.a))).entries).to.have.length(5);
    expect(await kind('nodes')).to.include({ limit: 5, used: 5 });
  });
});
