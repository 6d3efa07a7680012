import { expect } from 'chai';

import type { StoredEvent } from '../../../crds/event/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { Recommendation } from '../../../crds/recommendation/index.js';
import type { StoredTenant } from '../../../crds/tenant/index.js';
import type { StoredVolume, VolumeStatus } from '../../../crds/volume/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';
import { makeVolume } from '../../../crds/volume/volume.testing.js';

const GIB = 2 ** 30;
const AT = new Date(0).toISOString();
const [N1, N2, N3] = ['1', '2', '3'].map(digit => `node_${digit.repeat(26)}`) as [string, string, string];

describe('recommendations over HTTP', () => {
  let lab: ApiLab;
  let token: string;

  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'admin');
    for (const [at, id] of [N1, N2, N3].entries()) {
      const name = `machine-${at + 1}`;
      await put(keys.node(lab.a, name), {
        metadata: { tenant: lab.a, uid: id, generation: 1, createdAt: AT, updatedAt: AT, specHash: '' },
        id,
        name,
        labels: {},
        capacity: { cpu: 1000, memory: GIB, disk: 0 },
        publicKey: '',
        controlPlane: false,
        agentVersion: '0',
        volumeAddress: '127.0.0.1:7071',
      });
      await put(keys.nodeStatus(lab.a, name), { id, status: 'ready', reason: 'heartbeat', since: AT });
    }
  });
  afterEach(() => lab.stop());

  const PATH = '/api/v1/dvm/recommendations';
  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    lab.ask(method, path, {
      token,
      headers: { 'x-tenant-id': lab.a, ...headers },
      ...(body !== undefined && { body }),
    });
  const read = async (query = '') => {
    await lab.cache.barrier();
    const { status, body, text } = await ask('GET', `${PATH}${query}`);
    expect(status, text).to.equal(200);
    return body['items'] as Recommendation[];
  };
  const put = async (key: string, document: object) => {
    const at = (await lab.store.get(key))?.revision ?? 0;
    await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    await lab.cache.barrier();
  };
  /** A volume that holds so much, as its keeper would show it. */
  const declare = async (digit: string, spec: Partial<StoredVolume>, status: Partial<VolumeStatus>) => {
    const id = `vol_${digit.repeat(26)}`;
    const metadata = { tenant: lab.a, uid: id, generation: 1, createdAt: AT, updatedAt: AT, specHash: '' };
    const volume = makeVolume(metadata, { name: `v${digit}`, class: 'ephemeral', sizeBytes: 10 * GIB, ...spec });
    await put(keys.volume(lab.a, id), volume);
    await measure(digit, status);
    return id;
  };
  const measure = (digit: string, status: Partial<VolumeStatus>) =>
    put(keys.volumeStatus(lab.a, `vol_${digit.repeat(26)}`), {
      id: `vol_${digit.repeat(26)}`,
      phase: 'Ready',
      reason: 'volume_ready',
      message: '',
      primaryNode: N1,
      copies: [],
      capacityBytes: 10 * GIB,
      measuredAt: AT,
      since: AT,
      ...status,
    });
  const stored = (id: string) => value<StoredVolume>(lab.cache.get(keys.volume(lab.a, id))!);
  const listKeys = async () => (await lab.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`);
  const events = async (type: string) =>
    (await lab.store.list(ranges.events)).entries.map(entry => value<StoredEvent>(entry)).filter(e => e.type === type);

  it('[2.6.7 2.6.8 4.13] are computed on every read from what is measured, the most urgent first, and vanish with their condition', async () => {
    await declare('4', {}, { usedBytes: 8 * GIB });
    await declare('5', {}, { usedBytes: 9 * GIB });
    await declare(
      '6',
      { class: 'replicated', replicas: 1 },
      { usedBytes: GIB * 5, copies: [{ nodeId: N2, state: 'lost' }] },
    );
    const found = await read();
    expect(found.map(({ id, priority, type }) => [id.slice(-8), priority, type])).to.deep.equal([
      ['555_grow', 'critical', 'capacity'],
      ['6_copies', 'critical', 'replication'],
      ['444_grow', 'high', 'capacity'],
    ]);
    const [first] = found;
    for (const member of [
      'id',
      'applicable',
      'type',
      'priority',
      'volume_id',
      'parameters',
      'measurement',
      'message',
    ]) {
      expect(first).to.have.property(member);
    }
    expect(first).to.deep.include({
      applicable: true,
      volume_id: `vol_${'5'.repeat(26)}`,
      parameters: { action: 'resize', target_size_bytes: 15 * GIB },
      measurement: { at: AT, usedBytes: 9 * GIB, sizeBytes: 10 * GIB },
    });
    expect((await read('?priority=high')).map(({ volume_name: name }) => name)).to.deep.equal(['v4']);
    expect((await read('?type=replication')).map(({ volume_name: name }) => name)).to.deep.equal(['v6']);
    expect(await read('?type=placement&priority=low')).to.deep.equal([]);

    await measure('5', { usedBytes: Math.floor(9.2 * GIB) });
    expect((await read())[0]?.id).to.equal(first?.id);
    await measure('5', { usedBytes: 5 * GIB });
    expect((await read()).map(({ id }) => id)).not.to.include(first?.id);
  });

  it('[4.13 5.2] belong to the tenant that the header names', async () => {
    await declare('5', {}, { usedBytes: 9 * GIB });
    const other = await lab.tenantToken(lab.b);
    const own = await lab.ask('GET', PATH, { token: other, headers: { 'x-tenant-id': lab.b } });
    expect(own.body['items']).to.deep.equal([]);
    const foreign = await lab.ask('GET', PATH, { token: other, headers: { 'x-tenant-id': lab.a } });
    expect([foreign.status, foreign.body['code']]).to.deep.equal([403, 'tenant_mismatch']);
    const admin = (await lab.token({ kind: 'admin' })).text;
    const chosen = await lab.ask('GET', PATH, { token: admin, headers: { 'x-tenant-id': lab.a } });
    expect(chosen.body['items']).to.have.length(1);
    const none = await lab.ask('GET', PATH, { token: admin });
    expect([none.status, none.body['code']]).to.deep.equal([400, 'dvm_recommendation_tenant_required']);
  });

  it('[4.31] are applied to what was measured, with an event; a dry run says where and how long', async () => {
    const id = await declare('5', {}, { usedBytes: 9 * GIB });
    const [found] = await read();
    const path = `${PATH}/${found!.id}/apply`;
    const body = { parameters: found!.parameters };
    const before = await listKeys();
    const dryRun = await ask('POST', `${path}?dryRun=true`, body);
    expect(dryRun.body).to.deep.include({ dryRun: true, change: 'update' });
    expect(dryRun.body['preview']).to.deep.include({
      seconds: null,
      because: 'no growth was measured on its node yet',
    });
    expect((dryRun.body['preview'] as { nodes: { nodeId: string }[] }).nodes.map(({ nodeId }) => nodeId)).to.deep.equal(
      [N1],
    );
    await measure('5', { usedBytes: 9 * GIB, lastResize: { bytes: GIB, seconds: 2, isShrink: true } });
    await declare('4', {}, { lastResize: { bytes: GIB } });
    const unlike = await ask('POST', `${path}?dryRun=true`, body);
    expect(unlike.body['preview'], 'a shrink tells nothing of a growth').to.deep.include({ seconds: null });
    await measure('5', { usedBytes: 9 * GIB, lastResize: { bytes: GIB, seconds: 2 } });
    const known = await ask('POST', `${path}?dryRun=true`, body);
    expect(known.body['preview']).to.deep.include({
      seconds: 10,
      because: 'the last growth there was 1GiB in 2 seconds',
    });

    const late = await ask('POST', path, body, { 'if-match': `"${found!.revision}"` });
    expect([late.status, late.body['code']]).to.deep.equal([412, 'revision_mismatch']);
    expect(stored(id).sizeBytes).to.equal(10 * GIB);
    expect((await listKeys()).length).to.equal(before.length + 2);

    const [now] = await read();
    const done = await ask('POST', path, body, { 'if-match': now!.revision });
    expect(done.status, done.text).to.equal(200);
    expect(done.body).to.deep.include({ id: found!.id, applied: { action: 'resize', sizeBytes: 15 * GIB } });
    await lab.cache.barrier();
    expect(stored(id)).to.deep.include({ sizeBytes: 15 * GIB });
    expect(stored(id).metadata.generation).to.equal(2);
    expect((await events('recommendation.applied')).map(({ data }) => data['recommendation'])).to.deep.equal([
      found!.id,
    ]);
    const again = await ask('POST', path, body);
    expect([again.status, again.body['code']]).to.deep.equal([409, 'dvm_recommendation_not_applicable']);
  });

  it('to replace lost copies ask for as many more, while there are nodes for them', async () => {
    const copies = [{ nodeId: N2, state: 'lost' as const }];
    const id = await declare('6', { class: 'replicated', replicas: 1 }, { usedBytes: 5 * GIB, copies });
    const [found] = await read('?type=replication');
    expect(found).to.deep.include({ applicable: true, parameters: { action: 'set_replicas', target_replicas: 2 } });
    const path = `${PATH}/${found!.id}/apply`;
    const dryRun = await ask('POST', `${path}?dryRun=true`, { parameters: found!.parameters });
    const preview = dryRun.body['preview'] as { nodes: { name: string }[]; seconds: number | null };
    expect([preview.nodes.map(({ name }) => name), preview.seconds]).to.deep.equal([['machine-3'], null]);
    const readyKey = keys.nodeStatus(lab.a, 'machine-3');
    await put(readyKey, { id: N3, status: 'unready', reason: 'engine_unreachable', since: AT });
    const without = await ask('POST', `${path}?dryRun=true`, { parameters: found!.parameters });
    expect(without.body['preview']).to.deep.include({ nodes: [] });
    expect((without.body['preview'] as { because: string }).because).to.include('no node can take one now');
    await put(readyKey, { id: N3, status: 'ready', reason: 'heartbeat', since: AT });
    const lastWhole = { bytes: 2 * GIB, seconds: 4 };
    await measure('6', { usedBytes: 5 * GIB, copies: [{ ...copies[0]!, lastWhole }] });
    const [known] = await read('?type=replication');
    const measured = await ask('POST', `${path}?dryRun=true`, { parameters: known!.parameters });
    expect(measured.body['preview']).to.deep.include({
      seconds: 10,
      because: 'the nodes of 1 more replica are chosen then; the last whole copy from its node was 2GiB in 4 seconds',
    });
    const third = lab.cache.get(keys.node(lab.a, 'machine-3'))!;
    await put(third.key, { ...value<object>(third), volumeAddress: undefined });
    const nowhere = await ask('POST', `${path}?dryRun=true`, { parameters: found!.parameters });
    expect([nowhere.status, nowhere.body['code']]).to.deep.equal([409, 'dvm_recommendation_not_applicable']);
    expect(nowhere.body['expected']).to.include('2 replicas need 3 nodes, and 2 can be used');
    await put(third.key, value<object>(third));
    const { status, text } = await ask('POST', path, { parameters: found!.parameters });
    expect(status, text).to.equal(200);
    await lab.cache.barrier();
    expect(stored(id).replicas).to.equal(2);
  });

  it('that ask for what is stored already change nothing', async () => {
    const id = await declare('5', {}, { usedBytes: 9 * GIB });
    const [found] = await read();
    const parameters = { action: 'resize', target_size_bytes: 10 * GIB };
    const { status, text } = await ask('POST', `${PATH}/${found!.id}/apply`, { parameters });
    expect(status, text).to.equal(200);
    expect(stored(id).metadata.generation).to.equal(1);
    expect(await events('recommendation.applied')).to.deep.equal([]);
  });

  it('are stored by one measurement: of two that are applied at once, the second is judged anew', async () => {
    const id = await declare('5', {}, { usedBytes: 9 * GIB });
    const [found] = await read();
    const answers = await Promise.all(
      [12, 14, 16].map(gib =>
        ask('POST', `${PATH}/${found!.id}/apply`, { parameters: { action: 'resize', target_size_bytes: gib * GIB } }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 409, 409]);
    await lab.cache.barrier();
    expect(stored(id).metadata.generation).to.equal(2);
  });

  it('to grow are applied by themselves when an administrator of the tenant switches that on', async () => {
    const path = `${PATH}/auto-apply`;
    expect((await ask('GET', path)).body).to.deep.equal({ growth: false });
    const before = await listKeys();
    expect((await ask('PUT', `${path}?dryRun=true`, { growth: true })).body).to.deep.include({ change: 'update' });
    for (const [body, field] of [
      [{}, 'growth'],
      [{ growth: 'yes' }, 'growth'],
    ] as const) {
      const refused = await ask('PUT', path, body);
      expect([refused.status, refused.body['code'], refused.body['field']]).to.deep.equal([
        422,
        'field_invalid',
        field,
      ]);
    }
    const deployer = await lab.tenantToken(lab.a, 'deployer');
    const weak = await lab.ask('PUT', path, {
      token: deployer,
      headers: { 'x-tenant-id': lab.a },
      body: { growth: true },
    });
    expect([weak.status, weak.body['code']]).to.deep.equal([403, 'auth_forbidden']);
    expect((await listKeys()).filter(key => !key.startsWith('tokens/'))).to.deep.equal(
      before.filter(key => !key.startsWith('tokens/')),
    );

    expect((await ask('PUT', path, { growth: true })).body).to.deep.include({ growth: true });
    await lab.cache.barrier();
    const tenant = () => value<StoredTenant>(lab.cache.get(keys.tenant(lab.a))!);
    expect(tenant()).to.include({ autoGrow: true });
    await ask('PUT', path, { growth: true });
    expect((await ask('PUT', path, { growth: false })).body).to.deep.include({ growth: false });
    await lab.cache.barrier();
    expect(tenant()).not.to.have.property('autoGrow');
    expect(await events('recommendation.auto_apply_changed')).to.have.length(2);
  });
});
