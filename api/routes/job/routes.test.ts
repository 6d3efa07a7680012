import { expect } from 'chai';

import type { JobStatus, StoredJob } from '../../../crds/job/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';

const document = { kind: 'Job', name: 'migrate', image: 'registry.example.com/shop/migrate:1.4.2' };

describe('jobs over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  let viewer: string;
  before(async () => {
    lab = new ApiLab();
    await lab.start();
    token = await lab.tenantToken(lab.a, 'deployer');
    viewer = await lab.tenantToken(lab.a, 'viewer');
  });
  after(() => lab.stop());

  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    lab.ask(method, `/api/v1/${path}`, { token, headers, ...(body !== undefined && { body }) });
  const stored = async () =>
    (await lab.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`).join('\n');
  /** Asks, and expects that nothing is stored by it. */
  const refused = async (method: string, path: string, body?: unknown, headers = {}) => {
    const before = await stored();
    const answer = await ask(method, path, body, headers);
    expect(await stored()).to.equal(before);
    return [answer.status, answer.body['code'], answer.body['field']];
  };
  const jobs = async () => (await lab.store.list(ranges.of(ranges.jobs, lab.a))).entries.map(e => value<StoredJob>(e));

  it('are created, shown as pending, listed and deleted', async () => {
    const created = await ask('POST', 'jobs', document);
    expect(created.status, created.text).to.equal(201);
    expect(created.body).to.include({ kind: 'Job', name: 'migrate', backoffLimit: 3 });
    expect(created.body['alterations']).to.have.length(2);
    expect((created.body['status'] as JobStatus).phase).to.equal('Pending');

    await lab.cache.barrier();
    const shown = await ask('GET', 'jobs/migrate');
    expect(shown.body['status']).to.include({ phase: 'Pending', attempts: 0 });
    const listed = await ask('GET', 'jobs');
    expect((listed.body['items'] as StoredJob[]).map(({ name }) => name)).to.deep.equal(['migrate']);

    const explained = await ask('GET', 'jobs/migrate/explain');
    expect(explained.body).to.include({ job: 'migrate', phase: 'Pending', attempts: 0 });

    const deleted = await ask('DELETE', 'jobs/migrate');
    expect(deleted.status).to.equal(200);
    const again = await ask('DELETE', 'jobs/migrate');
    expect(again.body['metadata']).to.deep.equal(deleted.body['metadata']);
    expect((await jobs())[0]?.metadata.deletedAt).to.be.a('string');
    expect(await refused('POST', 'jobs', document)).to.deep.equal([409, 'resource_already_exists', 'name']);
  });

  it('show the status of their own, and not that of an earlier job of the name', async () => {
    const { body } = await ask('POST', 'jobs', { ...document, name: 'reborn' });
    const { uid } = body['metadata'] as StoredJob['metadata'];
    const put = async (of: string) => {
      const key = keys.jobStatus(lab.a, 'reborn');
      const at = (await lab.store.get(key))?.revision ?? 0;
      const status = { uid: of, phase: 'Succeeded', message: 'done', attempts: 1, exitCode: 0, history: [] };
      await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(status) }], deletes: [] });
      await lab.cache.barrier();
    };
    await put('job_old');
    expect((await ask('GET', 'jobs/reborn')).body['status']).to.include({ phase: 'Pending' });
    await put(uid);
    expect((await ask('GET', 'jobs/reborn')).body['status']).to.include({ phase: 'Succeeded', exitCode: 0 });
  });

  it('say in a dry run what would happen, and store nothing', async () => {
    const before = await stored();
    const answer = await ask('POST', 'jobs?dryRun=true', { ...document, name: 'dry' });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.body).to.include({ dryRun: true, change: 'create' });
    expect(answer.body['placement']).to.include({ unplaced: 1 });
    expect((await ask('DELETE', 'jobs/reborn?dryRun=true')).body).to.include({ change: 'delete' });
    expect(await stored()).to.equal(before);
  });

  it('are refused with a code, and nothing is stored', async () => {
    expect(await refused('POST', 'jobs', { ...document, kind: 'Deployment' })).to.deep.equal([
      422,
      'manifest_wrong_kind',
      'kind',
    ]);
    expect(await refused('POST', 'deployments', document)).to.deep.equal([422, 'manifest_wrong_kind', 'kind']);
    expect(await refused('POST', 'jobs', { ...document, name: 'reborn' })).to.deep.equal([
      409,
      'resource_already_exists',
      'name',
    ]);
    expect((await refused('GET', 'jobs/nothing')).slice(0, 2)).to.deep.equal([404, 'resource_not_found']);
    expect((await refused('DELETE', 'jobs/nothing')).slice(0, 2)).to.deep.equal([404, 'resource_not_found']);
    expect((await refused('GET', 'jobs/nothing/logs')).slice(0, 2)).to.deep.equal([404, 'resource_not_found']);
    expect((await refused('GET', 'jobs/reborn/logs?attempt=x')).slice(0, 2)).to.deep.equal([
      400,
      'query_parameter_invalid',
    ]);
    expect((await refused('DELETE', 'jobs/reborn', undefined, { 'if-match': '"1"' })).slice(0, 2)).to.deep.equal([
      412,
      'revision_mismatch',
    ]);
    const forbidden = await lab.ask('POST', '/api/v1/jobs', { token: viewer, body: document });
    expect(forbidden.status).to.equal(403);
    const other = await lab.tenantToken(lab.b);
    expect((await lab.ask('GET', '/api/v1/jobs/reborn', { token: other })).status).to.equal(404);
  });

  it('have a restart policy, which deployments do not: they always restart', async () => {
    const before = await stored();
    for (const [method, path] of [
      ['POST', 'deployments'],
      ['POST', 'deployments?dryRun=true'],
    ] as const) {
      const answer = await ask(method, path, { ...document, kind: 'Deployment', restartPolicy: 'Always' });
      expect([answer.status, answer.body['code'], answer.body['field']]).to.deep.equal([
        422,
        'restart_policy_jobs_only',
        'restartPolicy',
      ]);
      expect(answer.body['received']).to.equal('Always');
      expect(answer.body['why']).to.contain('always started again').and.contain('only jobs');
    }
    expect(await stored()).to.equal(before);
    expect(
      await refused('POST', 'jobs', { ...document, name: 'once', restartPolicy: 'Never', backoffLimit: 2 }),
    ).to.deep.equal([422, 'field_invalid', 'backoffLimit']);
    const once = await ask('POST', 'jobs?dryRun=true', { ...document, name: 'once', restartPolicy: 'Never' });
    expect(once.body['object'] ?? once.body, once.text).to.include({ restartPolicy: 'Never', backoffLimit: 0 });
  });

  it('count as consumers of a secret, which is not deleted under them', async () => {
    await ask('PUT', 'secrets/deployments/web-db', { values: { user: 'u', password: 'a long password' } });
    const secrets = [{ name: 'DB', vault_path: 'deployments/web-db', anchor: 'external', rotation: 'restart' }];
    const created = await ask('POST', 'jobs', { ...document, name: 'with-secret', secrets });
    expect(created.status, created.text).to.equal(201);
    await lab.cache.barrier();
    expect(await refused('DELETE', 'secrets/deployments/web-db')).to.deep.equal([409, 'secret_in_use', 'resource']);
    expect((await ask('GET', 'secrets/deployments/web-db')).body['jobs']).to.deep.equal(['with-secret']);
    const { body } = await ask('GET', 'secrets/resources/web-db/consumers');
    expect((body['consumers'] as { kind: string; job: string }[])[0]).to.include({ kind: 'Job', job: 'with-secret' });

    const { uid } = created.body['metadata'] as StoredJob['metadata'];
    const key = keys.jobStatus(lab.a, 'with-secret');
    const ended = {
      uid,
      phase: 'Succeeded',
      message: '',
      attempts: 1,
      history: [],
      finishedAt: '2030-01-01T00:00:00Z',
    };
    await lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(ended) }], deletes: [] });
    await lab.cache.barrier();
    expect((await ask('DELETE', 'secrets/deployments/web-db')).status, 'one that has ended reads nothing').to.equal(
      200,
    );
  });

  it('name the attempt, not a replica, when a log cannot be read', async () => {
    expect(await refused('GET', 'jobs/reborn/logs?attempt=7')).to.deep.equal([404, 'resource_not_found', 'attempt']);
  });

  it('beyond the quota are stored with a warning', async () => {
    const admin = { token: (await lab.token({ kind: 'admin' })).text };
    await lab.ask('PUT', `/api/v1/tenants/${lab.a}/quotas`, { ...admin, body: { jobs: 1 } });
    await lab.cache.barrier();
    const answer = await ask('POST', 'jobs', { ...document, name: 'one-more' });
    expect(answer.status).to.equal(201);
    const warnings = answer.body['warnings'] as { code: string; message: string }[];
    expect(warnings.at(-1)).to.include({ code: 'quota_reached' });
    expect(warnings.at(-1)?.message).to.contain('the quota is 1 job and 1 job is used; what exceeds it waits');
  });

  it('that have ended make room for others, the first that ended goes first, and the answer says so', async () => {
    const admin = { token: (await lab.token({ kind: 'admin' })).text };
    const limited = (limit: number | null) =>
      lab.ask('PUT', `/api/v1/tenants/${lab.a}/quotas`, { ...admin, body: { jobs: limit } });
    await limited(null);
    const end = async (name: string, finishedAt: string) => {
      const { body } = await ask('POST', 'jobs', { ...document, name });
      const { uid } = body['metadata'] as StoredJob['metadata'];
      const status = { uid, phase: 'Failed', message: '', attempts: 1, history: [], finishedAt };
      const key = keys.jobStatus(lab.a, name);
      await lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(status) }], deletes: [] });
    };
    await end('ended-later', '2030-01-02T00:00:00.000Z');
    await end('ended-first', '2030-01-01T00:00:00.000Z');
    await lab.cache.barrier();
    const deleted = async () =>
      (await jobs()).filter(({ metadata }) => metadata.deletedAt !== undefined).map(({ name }) => name);
    const before = await deleted();
    await limited((await jobs()).length - before.length);
    await lab.cache.barrier();

    const dry = await ask('POST', 'jobs?dryRun=true', { ...document, name: 'fresh' });
    expect(await deleted()).to.deep.equal(before);
    const answer = await ask('POST', 'jobs', { ...document, name: 'fresh' });
    expect(answer.status, answer.text).to.equal(201);
    expect(await deleted()).to.have.members([...before, 'ended-first']);
    for (const { body } of [dry, answer]) {
      const warnings = body['warnings'] as { code: string; message: string }[];
      expect(warnings.map(({ code }) => code)).to.deep.equal(['quota_reached']);
      expect(warnings[0]?.message).to.contain('ended-first').and.not.contain('ended-later');
    }
    await lab.cache.barrier();
    await Promise.all(['at-once-1', 'at-once-2'].map(name => ask('POST', 'jobs', { ...document, name })));
    expect(await deleted()).to.have.members([...before, 'ended-first', 'ended-later']);
    await limited(null);
  });

  it('with a schedule are stored with its defaults, use no container of the quota, and are shown before their first tick', async () => {
    const admin = { token: (await lab.token({ kind: 'admin' })).text };
    await lab.ask('PUT', `/api/v1/tenants/${lab.a}/quotas`, { ...admin, body: { containers: 0 } });
    await lab.cache.barrier();
    const nightly = { ...document, name: 'nightly', schedule: '0 3 * * *' };
    const dry = await ask('POST', 'jobs?dryRun=true', nightly);
    expect([dry.status, dry.body['warnings']]).to.deep.equal([200, []]);
    const created = await ask('POST', 'jobs', nightly);
    expect([created.status, created.body['warnings']], created.text).to.deep.equal([201, []]);
    expect(created.body).to.include({ timeZone: 'UTC', concurrencyPolicy: 'Allow' });
    await lab.cache.barrier();
    expect((await ask('GET', 'jobs/nightly')).body['status']).to.include({ phase: 'Pending' });
    expect(await refused('POST', 'jobs', { ...nightly, name: 'never', schedule: '0 0 30 2 *' })).to.deep.equal([
      422,
      'field_invalid',
      'schedule',
    ]);
    expect(await refused('POST', 'jobs', { ...document, name: 'zoned', timeZone: 'UTC' })).to.deep.equal([
      422,
      'field_invalid',
      'timeZone',
    ]);
  });

  it('keep a tenant from being deleted', async () => {
    const { body } = await lab.ask('GET', `/api/v1/tenants/${lab.a}/remains`, {
      token: (await lab.token({ kind: 'admin' })).text,
    });
    expect((body['remains'] as { job: string[] }).job).to.include('reborn');
  });
});
