import { expect } from 'chai';

import type { StoredJob } from '../../../crds/job/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';

const AT = '2030-01-01T00:00:00.000Z';
const document = { kind: 'Job', name: 'fresh', image: 'registry.example.com/shop/migrate:1.4.2' };

describe('the room for a new job', () => {
  let lab: ApiLab;
  beforeEach(async () => {
    lab = new ApiLab();
    await lab.start();
  });
  afterEach(() => lab.stop());

  const limit = async (jobs: number) => {
    const { text: token } = await lab.token({ kind: 'admin' });
    await lab.ask('PUT', `/api/v1/tenants/${lab.a}/quotas`, { token, body: { jobs } });
    await lab.cache.barrier();
  };
  const put = async (name: string, change: Partial<StoredJob> = {}, owner?: StoredJob['metadata']['owner']) => {
    const uid = `job_${name}`;
    const times = { createdAt: AT, updatedAt: AT };
    const metadata = { tenant: lab.a, uid, generation: 1, ...times, specHash: 'h', ...(owner && { owner }) };
    const job = { metadata, ...document, name, backoffLimit: 0, ...change };
    const status = { uid, phase: 'Succeeded', message: '', attempts: 1, history: [], finishedAt: AT };
    const isEnded = change.schedule === undefined;
    const puts = [
      { key: keys.job(lab.a, name), bytes: encode(job) },
      ...(isEnded ? [{ key: keys.jobStatus(lab.a, name), bytes: encode(status) }] : []),
    ];
    await lab.store.commit({ guards: puts.map(({ key }) => ({ key, at: 0 })), puts, deletes: [] });
  };
  const create = async (body: object) => {
    await lab.cache.barrier();
    const answer = await lab.ask('POST', '/api/v1/jobs', { token: await lab.tenantToken(lab.a, 'deployer'), body });
    expect(answer.status, answer.text).to.equal(201);
    const stored = (await lab.store.list(ranges.of(ranges.jobs, lab.a))).entries.map(entry => value<StoredJob>(entry));
    return {
      removed: stored.filter(({ metadata }) => metadata.deletedAt !== undefined).map(({ name }) => name),
      warnings: (answer.body['warnings'] as { code: string }[]).map(({ code }) => code),
    };
  };

  it('is made with as many large jobs as one write can hold, and with one at least', async () => {
    const putLarge = (name: string, kib: number) => put(name, { environment: { NOTE: 'x'.repeat(kib * 1024) } });
    await putLarge('a', 600);
    for (const name of ['b', 'c', 'd']) await putLarge(name, 200);
    await limit(0);
    expect((await create(document)).removed).to.deep.equal(['a']);
    expect((await create({ ...document, name: 'another' })).removed).to.deep.equal(['a', 'b', 'c']);
  });

  it('is not needed for a job with a schedule', async () => {
    await put('ended');
    await limit(0);
    const nightly = { ...document, name: 'nightly', schedule: '0 3 * * *' };
    expect(await create(nightly)).to.deep.equal({ removed: [], warnings: [] });
  });

  it('is not taken by jobs with a schedule nor by their runs, and none of these is removed for it', async () => {
    await put('nightly', { schedule: '0 3 * * *', timeZone: 'UTC', concurrencyPolicy: 'Allow' });
    await put('nightly-1', {}, { name: 'nightly', uid: 'job_nightly' });
    await put('nightly-2', {}, { name: 'nightly', uid: 'job_nightly' });
    await put('plain');
    await limit(2);
    expect((await create(document)).removed).to.deep.equal([]);
    expect((await create({ ...document, name: 'another' })).removed).to.deep.equal(['plain']);
  });
});
