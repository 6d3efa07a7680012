import { expect } from 'chai';
import sinon from 'sinon';

import type { ArchivedRevision } from '../../../crds/archive/index.js';
import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { keys } from '../../../crds/keys/index.js';
import { putFormerDeployment } from '../../../pkg/history/index.js';
import { replace, value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';
import { describeCodes, type RejectableRequest } from '../deployment/rejection-lab.testing.js';

describe('archives over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'deployer');
  });
  after(() => lab.stop());

  const post = (body: unknown) => lab.ask('POST', '/api/v1/deployments', { token, body });
  const put = (name: string, body: unknown) => lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body });
  const get = (path: string) => lab.ask('GET', `/api/v1/archives/deployments/${path}`, { token });
  const rollBack = (name: string, revision: number, more = '', headers = {}) =>
    lab.ask('POST', `/api/v1/archives/deployments/${name}/rollback${more}`, { token, body: { revision }, headers });
  const load = async (name: string) => {
    await lab.cache.barrier();
    return lab.cache.get(keys.deployment(lab.a, name))!;
  };
  /** Deletes a deployment as the replica keeper does once its containers are gone. */
  const remove = async (name: string) => {
    await lab.ask('DELETE', `/api/v1/deployments/${name}`, { token });
    const entry = await load(name);
    const former = putFormerDeployment(lab.cache, value<StoredDeployment>(entry));
    await lab.store.commit({ guards: [{ key: entry.key, at: entry.revision }], puts: [former], deletes: [entry.key] });
    await lab.cache.barrier();
  };
  const list = async (path: string) => {
    const { status, body, text } = await get(path);
    expect(status, text).to.equal(200);
    return body['revisions'] as readonly ArchivedRevision[];
  };
  const told = async (path: string) =>
    (await list(path)).map(({ revision, change, spec }) => [revision, change, spec.replicas]);

  it('[2.8.14 4.23] answer every accepted configuration, with author, change and alterations, and nothing of a refused one', async () => {
    await post({ kind: 'Deployment', name: 'told', image: 'shop/web:1' });
    await put('told', { replicas: 3 });
    await put('told', { replicas: -3 });
    await put('told', { replicas: 3 });
    const revisions = await list('told');
    expect(revisions.map(({ revision, change }) => [revision, change])).to.deep.equal([
      [1, 'create'],
      [2, 'update'],
    ]);
    const stored = value<StoredDeployment>(await load('told'));
    const [first, second] = revisions;
    expect(first!.alterations.map(({ field }) => field)).to.include('replicas');
    expect(second).to.include({ specHash: stored.metadata.specHash, secretsVersion: 0, at: stored.metadata.updatedAt });
    expect(first!.by).to.match(/^[0-9a-z]{8,}$/i);
    expect(token).to.include(first!.by);
    const { metadata: _, ...spec } = stored;
    expect(second!.spec).to.deep.equal(spec);
  });

  it('[2.8.14 4.23] answer the last fifty', async () => {
    await post(webDeployment('long'));
    for (let change = 2; change <= 54; change++) await put('long', { labels: { change: String(change) } });
    expect((await list('long')).map(({ revision }) => revision)).to.deep.equal(
      Array.from({ length: 50 }, (_, at) => at + 5),
    );
  });

  it('[2.8.14] are found after the deletion, by name and by id, and the next of that name continues the numbers', async () => {
    const created = await post(webDeployment('again'));
    const { uid } = created.body['metadata'] as { uid: string };
    await remove('again');
    const answer = await get('again');
    expect(answer.body).to.include({ name: 'again', deleted: true });
    expect(await told('again')).to.deep.equal(await told(uid));
    const next = await post(webDeployment('again', { replicas: 7 }));
    expect(next.body['metadata']).to.include({ generation: 3 });
    expect(await told('again')).to.deep.equal([
      [1, 'create', 2],
      [2, 'delete', 2],
      [3, 'create', 7],
    ]);
    expect(await told(uid)).to.have.length(2);
    expect((await get('again')).body).to.include({ deleted: false });
    expect(await told('again?limit=1')).to.deep.equal([[3, 'create', 7]]);
  });

  it('[4.23] answer the difference of two revisions', async () => {
    await post(webDeployment('differs', { labels: { team: 'a' } }));
    await put('differs', { replicas: 4 });
    await put('differs', { labels: null });
    const ask = async (query: string) => {
      const { body } = await get(`differs?${query}`);
      const [from, to] = [body['from'], body['to']] as ArchivedRevision[];
      return [from!.revision, to!.revision, body['diff']];
    };
    const scaled = { op: 'replace', path: '/replicas', value: 4 };
    const unlabelled = { op: 'remove', path: '/labels' };
    expect(await ask('from=1&to=2')).to.deep.equal([1, 2, [scaled]]);
    expect(await ask('to=2')).to.deep.equal([1, 2, [scaled]]);
    const [from, to, steps] = await ask('from=1');
    expect([from, to]).to.deep.equal([1, 3]);
    expect(steps).to.have.deep.members([scaled, unlabelled]);
    expect(await ask('from=3&to=3')).to.deep.equal([3, 3, []]);
  });

  it('of another tenant are answered as if there were none', async () => {
    const created = await post(webDeployment('private'));
    const { uid } = created.body['metadata'] as { uid: string };
    const other = await lab.tenantToken(lab.b);
    for (const name of ['private', uid]) {
      const { status, body } = await lab.ask('GET', `/api/v1/archives/deployments/${name}`, { token: other });
      expect([status, body['code']]).to.deep.equal([404, 'deployment_not_found']);
      const back = { token: other, body: { revision: 1 } };
      const refused = await lab.ask('POST', `/api/v1/archives/deployments/${name}/rollback`, back);
      expect([refused.status, refused.body['code']]).to.deep.equal([404, 'deployment_not_found']);
    }
  });

  it('[4.23] bring a revision back as a new one: every field of it, and no other', async () => {
    const placement = { residency: { country: 'DE' } };
    await post(webDeployment('back', { labels: { team: 'a' }, placement, environment: { MODE: 'a' } }));
    const [first] = await list('back');
    await put('back', { replicas: 9, labels: null, placement: null, environment: { MODE: 'b' }, command: ['x'] });
    const answer = await rollBack('back', 1);
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.body['metadata']).to.include({ generation: 3, specHash: first!.specHash });
    const last = (await list('back')).at(-1)!;
    expect(last).to.deep.include({ revision: 3, change: 'rollback', fromRevision: 1, spec: first!.spec });
    const events = await lab.ask('GET', '/api/v1/events?type=deployment.rolled_back', { token });
    const [event] = events.body['items'] as { data: object; message: string; reason: string }[];
    expect(event).to.include({ reason: 'rolled_back' });
    expect(event!.message).to.match(/^deployment back was rolled back to revision 1 by token /);
    expect(event!.data).to.include({ generation: 3, fromRevision: 1 });
    const same = await rollBack('back', 1);
    expect([same.status, (await list('back')).length]).to.deep.equal([200, 3]);
  });

  it('never lower secretsVersion with a rollback, also of a deleted deployment', async () => {
    await post(webDeployment('raised'));
    await put('raised', { replicas: 5 });
    const entry = await load('raised');
    // As the rotation phaser does it.
    await replace(lab.store, entry, { ...value<StoredDeployment>(entry), secretsVersion: 4 });
    const living = await rollBack('raised', 1);
    expect(living.body).to.include({ replicas: 2, secretsVersion: 4 });
    await remove('raised');
    const dead = await rollBack('raised', 2);
    expect(dead.status, dead.text).to.equal(201);
    expect(dead.body).to.include({ replicas: 5, secretsVersion: 4 });
    expect((await told('raised')).map(([revision, change]) => [revision, change])).to.deep.equal([
      [1, 'create'],
      [2, 'update'],
      [3, 'rollback'],
      [4, 'delete'],
      [5, 'rollback'],
    ]);

    // Deleted after it was found.
    const read = sinon.stub(lab.store, 'get').callThrough();
    const { uid } = value<StoredDeployment>(await load('raised')).metadata;
    const removeOnce = async (key: string) => {
      read.restore();
      await remove('raised');
      return lab.store.get(key);
    };
    read.withArgs(keys.archive(lab.a, uid, 5)).callsFake(removeOnce);
    const spec = { ...value<StoredDeployment>(await load('raised')), secretsVersion: 6 };
    await replace(lab.store, await load('raised'), spec);
    const lost = await rollBack('raised', 5);
    expect([lost.status, lost.body['secretsVersion']]).to.deep.equal([201, 6]);
  });

  it('judge a rollback as any other write: rules, If-Match, dry run, deletion', async () => {
    await post(webDeployment('judged'));
    await put('judged', { replicas: 5 });
    const before = await lab.store.revision();
    const dryRun = await rollBack('judged', 1, '?dryRun=true');
    expect(dryRun.body).to.include({ dryRun: true, change: 'update' });
    expect(dryRun.body['diff']).to.deep.equal([{ op: 'replace', path: '/replicas', value: 2 }]);
    const stale = await rollBack('judged', 1, '', { 'if-match': '"1"' });
    expect([stale.status, stale.body['code']]).to.deep.equal([412, 'revision_mismatch']);
    expect(await lab.store.revision()).to.equal(before);
    await lab.ask('DELETE', '/api/v1/deployments/judged', { token });
    const leaving = await rollBack('judged', 1);
    expect([leaving.status, leaving.body['code']]).to.deep.equal([409, 'deployment_being_deleted']);
    await remove('judged');
    const gone = await rollBack('judged', 1, '', { 'if-match': '*' });
    expect([gone.status, gone.body['code']]).to.deep.equal([412, 'revision_mismatch']);
    expect(await load('judged')).to.equal(undefined);
  });
});

const rollback = (name: string, body: unknown): RejectableRequest => ({
  path: `/api/v1/archives/deployments/${name}/rollback`,
  body,
});
const read = (path: string): RejectableRequest => ({ method: 'GET', path: `/api/v1/archives/deployments/${path}` });

describeCodes('archives', [
  {
    code: 'deployment_not_found',
    status: 404,
    cases: [
      ['a name that never was', 'name', read('none')],
      ['a name that is none', 'name', read('No_Name')],
      ['an id that never was', 'deployment_id', read(`dep_${'1'.repeat(26)}`)],
      ['a rollback of none', 'name', rollback('none', { revision: 1 })],
      ['a rollback of an id that never was', 'deployment_id', rollback(`dep_${'1'.repeat(26)}`, { revision: 1 })],
      ['another tenant’s', 'name', { ...read('cache'), as: 'bare' }],
    ],
  },
  {
    code: 'revision_not_found',
    status: 404,
    cases: [
      ['from', 'from', read('cache?from=7&to=1')],
      ['to', 'to', read('cache?from=1&to=7')],
    ],
  },
  {
    code: 'revision_not_found',
    status: 422,
    cases: [['of a rollback', 'revision', rollback('cache', { revision: 7 })]],
  },
  {
    code: 'query_parameter_invalid',
    status: 400,
    cases: [
      ['from', 'from', read('cache?from=first')],
      ['to', 'to', read('cache?to=0')],
      ['limit', 'limit', read('cache?limit=51')],
      ['limit of a difference', 'limit', read('cache?limit=5&from=1')],
    ],
  },
  {
    code: 'field_invalid',
    status: 422,
    cases: [
      ['no revision', 'revision', rollback('cache', {})],
      ['a revision in words', 'revision', rollback('cache', { revision: '1' })],
      ['a revision of nothing', 'revision', rollback('cache', { revision: 0 })],
    ],
  },
  {
    code: 'field_unknown',
    status: 422,
    cases: [['beside the revision', 'to', rollback('cache', { revision: 1, to: 2 })]],
  },
]);
