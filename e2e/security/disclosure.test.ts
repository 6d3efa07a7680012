import { expect } from 'chai';

import { ApiLab, webDeployment } from '../../api/api-lab.testing.js';
import { keys } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { mintToken } from '../../pkg/auth/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { encode } from '../../pkg/store/index.js';

const NODE = `node_${'1'.repeat(26)}`;

describe('what a refusal gives away', () => {
  let lab: ApiLab;
  before(async () => {
    lab = await new ApiLab().start();
  });
  after(() => lab.stop());

  it('is not which ids of tokens exist: an unknown one is refused with the same work and the same words', async () => {
    let digests = 0;
    let barriers = 0;
    const matches = lab.keyring.matches.bind(lab.keyring);
    const barrier = lab.cache.barrier.bind(lab.cache);
    lab.keyring.matches = (...parts) => (digests++, matches(...parts));
    lab.cache.barrier = () => (barriers++, barrier());
    const expired = (await lab.token({ kind: 'tenant', tenant: lab.a, role: 'admin', lifeSeconds: 0 })).text;
    const { text: wrong, stored } = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'admin' });
    const other = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'admin' });
    const key = keys.token(stored.id);
    const at = (await lab.store.get(key))!.revision;
    const changed = { ...stored, digest: other.stored.digest };
    await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(changed) }], deletes: [] });
    await lab.cache.barrier();
    const parts = { keyring: lab.keyring, clock: systemClock, random: systemRandom };
    const draft = { kind: 'tenant', tenant: lab.a, role: 'admin', description: '', createdBy: 'lab' } as const;
    const unknown = mintToken({ ...draft, lifeSeconds: 60 }, parts).text;

    const refusals = [];
    for (const token of [wrong, unknown, expired]) {
      [digests, barriers] = [0, 0];
      const { status, body } = await lab.ask('GET', '/api/v1/deployments', { token, headers: { connection: 'close' } });
      const { received: _, requestId: __, rejections: ___, ...words } = body;
      refusals.push({ status, words, digests, barriers });
    }
    expect(refusals[0]).to.deep.include({ status: 401 });
    expect(refusals[0]!.digests).to.be.greaterThan(0);
    for (const refusal of refusals) expect(refusal).to.deep.equal(refusals[0]);
  });

  it('is not which replicas other tenants have: one in a report is answered like one that never was', async () => {
    const { text: token } = await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName: 'machine-1' });
    const foreign: Replica = {
      uid: '11111111-1111-4111-8111-111111111111',
      tenant: lab.b,
      deployment: 'web',
      deploymentUid: 'dep_1',
      slot: 0,
      generation: 1,
      templateHash: '',
      template: { image: 'web:1' },
      nodeId: `node_${'2'.repeat(26)}`,
    } as unknown as Replica;
    const key = keys.replica(lab.b, 'web', 0);
    await lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(foreign) }], deletes: [] });
    await lab.cache.barrier();
    const report = async (replica: string) => {
      const place = { deployment: foreign.deployment, slot: foreign.slot, nodeId: NODE, templateHash: 'a' };
      const state = { state: 'running', health: 'healthy', restarts: 0, at: new Date().toISOString() };
      const reports = [{ replica, ...place, ...state }];
      const { status, body } = await lab.ask('POST', '/agent/v1/reports', { token, body: { reports } });
      return { status, code: body['code'] };
    };
    const absent = await report('22222222-2222-4222-8222-222222222222');
    expect(absent.status).to.equal(200);
    expect(await report(foreign.uid)).to.deep.equal(absent);
    expect((await lab.store.list('reports/')).entries).to.deep.equal([]);
  });

  it('is not which objects other tenants have: each is answered like one that never was', async () => {
    const [a, b] = [await lab.tenantToken(lab.a), await lab.tenantToken(lab.b)];
    const { status, body } = await lab.ask('POST', '/api/v1/deployments', { token: b, body: webDeployment('theirs') });
    expect(status).to.equal(201);
    const { uid } = body['metadata'] as { uid: string };
    const noUid = `dep_${'1'.repeat(26)}`;
    const ask = async (name: string, method: string) => {
      const answer = await lab.ask(method, `/api/v1/deployments/${name}`, { token: a });
      return { status: answer.status, code: answer.body['code'] };
    };
    for (const method of ['GET', 'DELETE']) {
      const absent = await ask('absent', method);
      expect(absent.status, method).to.equal(404);
      expect(await ask('theirs', method), method).to.deep.equal(absent);
      expect(await ask(noUid, method), method).to.deep.equal(absent);
      expect(await ask(uid, method), `${method} by its id`).to.deep.equal(absent);
    }
  });
});
