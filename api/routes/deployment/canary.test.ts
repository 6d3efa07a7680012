import { expect } from 'chai';

import type { ArchivedRevision } from '../../../crds/archive/index.js';
import { type Backup, computeBackupChecksum } from '../../../crds/backup/index.js';
import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { keys } from '../../../crds/keys/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { computeTemplateHash, toContainerTemplate } from '../../../crds/replica/index.js';
import { type CanaryOrder, computeContentHash, type RolloutRecord } from '../../../crds/rollout/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

type Fields = Readonly<Record<string, unknown>>;

const rollout = { canary: { replicas: 1, hold: '5m' } };

describe('the canary of a deployment over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'deployer');
  });
  after(() => lab.stop());

  const create = (name: string, fields: Readonly<Record<string, unknown>> = { replicas: 3, rollout }) =>
    lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name, fields) });
  const order = (name: string, body: unknown, query = '', headers = {}) =>
    lab.ask('POST', `/api/v1/deployments/${name}/canary${query}`, { token, body, headers });
  const load = async (name: string, tenant = lab.a) => {
    await lab.cache.barrier();
    return lab.cache.get(keys.deployment(tenant, name))!;
  };
  const read = async (name: string, tenant = lab.a) => {
    const entry = await lab.store.get(keys.canaryOrder(tenant, name));
    return entry && value<CanaryOrder>(entry);
  };
  /** Records what the replica keeper does when a canary begins. */
  const hold = async (name: string, change: Partial<RolloutRecord> = {}) => {
    const deployment = value<StoredDeployment>(await load(name));
    const { uid } = deployment.metadata;
    const baseline = { templateHash: computeTemplateHash(deployment), template: toContainerTemplate(deployment) };
    const at = '2030-01-01T00:00:00.000Z';
    const record: RolloutRecord = {
      uid,
      completed: { revision: 1, templateHash: 'earlier', contentHash: 'earlier', at },
      canary: { revision: 2, contentHash: computeContentHash(deployment), startedAt: at, baseline },
      ...change,
    };
    const key = keys.rollout(lab.a, name);
    const seen = await lab.store.get(key);
    const guards = [{ key, at: seen?.revision ?? 0 }];
    await lab.store.commit({ guards, puts: [{ key, bytes: encode(record) }], deletes: [] });
    await lab.cache.barrier();
  };
  const told = ({ status, body }: Awaited<ReturnType<typeof order>>) => [status, body['code'], body['field']];

  it('is accepted as part of a rollout, bounded by the replicas with an announcement', async () => {
    const { status, body } = await create('bounded', { replicas: 2, rollout: { canary: { replicas: '100%' } } });
    expect(status).to.equal(201);
    expect(body['warnings']).to.deep.include({
      code: 'canary_bounded',
      field: 'rollout.canary.replicas',
      message: 'of 2 replicas at most 1 runs the new template first, so that one is left to compare with',
    });
    const alone = await create('alone', { replicas: 1, rollout: { maxSurge: 0, maxUnavailable: 1, ...rollout } });
    expect((alone.body['warnings'] as { code: string }[]).map(({ code }) => code)).to.deep.equal(['canary_alone']);
  });

  it('is promoted and aborted by an order, which is stored once, for this canary and by this caller', async () => {
    await create('held');
    await hold('held');
    const { status, body } = await order('held', { action: 'promote' });
    expect([status, body['action'], body['revision']]).to.deep.equal([200, 'promote', 1]);
    const deployment = value<StoredDeployment>(await load('held'));
    expect(await read('held')).to.include({
      uid: deployment.metadata.uid,
      contentHash: computeContentHash(deployment),
      action: 'promote',
    });
    expect((await read('held'))?.by).to.match(/^token /);
    expect((await order('held', { action: 'abort' })).status).to.equal(200);
    expect((await read('held'))?.action).to.equal('abort');
  });

  it('is not ordered about while there is none: 409, and nothing is stored', async () => {
    await create('idle');
    const before = await lab.store.revision();
    expect(told(await order('idle', { action: 'promote' }))).to.deep.equal([409, 'canary_not_under_way', 'name']);
    expect(await lab.store.revision()).to.equal(before);
    await hold('idle', { lastCanary: { revision: 2, outcome: 'promoted', at: '', message: '' } });
    await lab.ask('PUT', '/api/v1/deployments/idle', { token, body: { image: 'registry.example.com/shop/web:9' } });
    const { body } = await order('idle', { action: 'abort' });
    expect(body['code']).to.equal('canary_not_under_way');
    expect(body['expected']).to.include('that of revision 2 was promoted');
    await create('plain', {});
    expect((await order('plain', { action: 'abort' })).body['expected']).to.include('set rollout.canary');
    expect(await read('idle')).to.equal(undefined);
  });

  it('refuses another action, a body that is none, an old revision, and what does not exist', async () => {
    await create('strict');
    await hold('strict');
    const viewer = await lab.tenantToken(lab.a, 'viewer');
    const before = await lab.store.revision();
    expect(told(await order('strict', { action: 'retry' }))).to.deep.equal([422, 'field_invalid', 'action']);
    expect(told(await order('strict', {}))).to.deep.equal([422, 'field_invalid', 'action']);
    expect(told(await order('strict', { action: 'abort', why: 'x' }))).to.deep.equal([422, 'field_unknown', 'why']);
    const stale = await order('strict', { action: 'abort' }, '', { 'if-match': '"1"' });
    expect(told(stale)).to.deep.equal([412, 'revision_mismatch', 'If-Match']);
    expect(told(await order('none', { action: 'abort' }))).to.deep.equal([404, 'deployment_not_found', 'name']);
    const denied = await lab.ask('POST', '/api/v1/deployments/strict/canary', {
      token: viewer,
      body: { action: 'abort' },
    });
    expect(denied.status).to.equal(403);
    const dry = await order('strict', { action: 'abort' }, '?dryRun=true');
    expect(dry.status).to.equal(200);
    expect(await lab.store.revision()).to.equal(before);
  });

  const restore = (id: unknown, query = '', as = token) =>
    lab.ask('POST', `/api/v1/backups/${String(id)}/restore${query}`, { token: as });
  const warned = ({ body }: Awaited<ReturnType<typeof order>>) =>
    (body['warnings'] as readonly { readonly code: string; readonly message: string }[]).find(
      ({ code }) => code === 'canary_not_resumed',
    )?.message;
  /** Two revisions, of which the second is a canary, and a backup of it. */
  const backUp = async (name: string) => {
    await create(name);
    await lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body: { image: 'registry.example.com/shop/web:2' } });
    await hold(name);
    return (await lab.ask('POST', '/api/v1/backups', { token, body: { deploymentName: name } })).body;
  };

  it('[2.8.13] is part of a backup; a deployment that is there is changed as by any other write', async () => {
    const made = await backUp('kept');
    expect(made['canaryState']).to.deep.equal({
      revision: 2,
      startedAt: '2030-01-01T00:00:00.000Z',
      healthySince: null,
      completedRevision: 1,
    });
    for (const query of ['?dryRun=true', '']) {
      expect(warned(await restore(made['id'], query))).to.include('the deployment exists');
    }
    expect(await read('kept')).to.equal(undefined);
    const other = { ...made, canaryState: { environment: { A: 'x' } } };
    const refused = await lab.ask('POST', '/api/v1/backups/import', { token, body: other });
    expect(told(refused)).to.deep.equal([422, 'field_unknown', 'canaryState.environment']);
  });

  it('[2.8.13] is resumed with a deployment that is made anew from a backup, beside what ran beside it', async () => {
    const elsewhere = await lab.tenantToken(lab.b, 'deployer');
    const bring = async (name: string, query = '') => {
      const made = await backUp(name);
      await lab.ask('POST', '/api/v1/backups/import', { token: elsewhere, body: made });
      return restore(made['id'], query, elsewhere);
    };
    const dry = await bring('dry', '?dryRun=true');
    expect([dry.status, warned(dry), await read('dry', lab.b)]).to.deep.equal([200, undefined, undefined]);

    const restored = await bring('moved');
    expect([restored.status, warned(restored)]).to.deep.equal([201, undefined]);
    const deployment = value<StoredDeployment>(await load('moved', lab.b));
    const { beside, ...given } = (await read('moved', lab.b))!;
    const { uid } = deployment.metadata;
    expect(given).to.include({ uid, action: 'resume', contentHash: computeContentHash(deployment) });
    const first = { ...deployment, image: 'registry.example.com/shop/web:1.4.2' };
    const templateHash = computeTemplateHash(first);
    expect(beside?.baseline).to.deep.equal({ templateHash, template: toContainerTemplate(first) });
    expect(beside?.completed).to.include({ revision: 1, templateHash });
  });

  it('is not resumed where what ran beside it is not in the backup, or would be refused by now', async () => {
    const elsewhere = await lab.tenantToken(lab.b, 'deployer');
    const bring = async (exported: Fields, how: Fields) => {
      const { checksum: _, metadata: __, alterations: ___, warnings: ____, ...made } = exported;
      const backup = { ...made, ...how } as unknown as Backup;
      const body = { ...backup, checksum: computeBackupChecksum(backup) };
      const imported = await lab.ask('POST', '/api/v1/backups/import', { token: elsewhere, body });
      expect(imported.status, JSON.stringify(imported.body)).to.equal(201);
      const restored = await restore(made['id'], '', elsewhere);
      expect(restored.status).to.equal(201);
      expect(await read(made['deploymentName'] as string, lab.b)).to.equal(undefined);
      return warned(restored);
    };
    const pick = (backup: Fields) => backup['revisions'] as [ArchivedRevision, ArchivedRevision];
    const lost = await backUp('lost');
    expect(await bring(lost, { revisions: pick(lost).slice(1) })).to.include('not part of the backup');
    const refused = await backUp('refused');
    const [first, second] = pick(refused);
    const spec = { ...first.spec, nodeId: 'node_gone' };
    const foreign = { ...first, spec, specHash: hashSpec(spec) };
    expect(await bring(refused, { revisions: [foreign, second] })).to.match(/would be refused by now .+ at nodeId/);
  });
});
