import { expect } from 'chai';

import type { ScalingRecord, StoredDeployment, StoredScalingPolicy } from '../../../crds/deployment/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredEvent } from '../../../crds/event/index.js';
import { create, value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

const POLICY = { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 60 };

type Row = readonly [name: string, body: unknown, code: string, field: string];

const refused: readonly Row[] = [
  ['a minimum above the maximum', { ...POLICY, minReplicas: 5 }, 'scaling_range_invalid', 'minReplicas'],
  ['a maximum above what is allowed', { ...POLICY, maxReplicas: 101 }, 'replicas_out_of_range', 'maxReplicas'],
  ['no target', { minReplicas: 1, maxReplicas: 4 }, 'scaling_target_required', 'targetCpuPercent'],
  [
    'a target for what is not requested',
    { ...POLICY, targetMemoryPercent: 80 },
    'scaling_request_missing',
    'targetMemoryPercent',
  ],
  ['no minimum', { maxReplicas: 4, targetCpuPercent: 60 }, 'field_invalid', 'minReplicas'],
  ['no maximum', { minReplicas: 1, targetCpuPercent: 60 }, 'field_invalid', 'maxReplicas'],
  ['a minimum of 0', { ...POLICY, minReplicas: 0 }, 'field_invalid', 'minReplicas'],
  ['half a replica', { ...POLICY, maxReplicas: 2.5 }, 'field_invalid', 'maxReplicas'],
  ['text', { ...POLICY, minReplicas: '1' }, 'field_invalid', 'minReplicas'],
  ['a target of 0', { ...POLICY, targetCpuPercent: 0 }, 'field_invalid', 'targetCpuPercent'],
  ['a target beyond reason', { ...POLICY, targetCpuPercent: 1001 }, 'field_invalid', 'targetCpuPercent'],
  ['a time that is none', { ...POLICY, stabilization: 'soon' }, 'field_invalid', 'stabilization'],
  ['a time that is a number', { ...POLICY, stabilization: 30 }, 'field_invalid', 'stabilization'],
  ['a time that is too long', { ...POLICY, stabilization: '61m' }, 'field_invalid', 'stabilization'],
  ['an unknown field', { ...POLICY, targetCpu: 60 }, 'field_unknown', 'targetCpu'],
  ['no object', [], 'field_invalid', 'body'],
];

describe('scaling policies over HTTP', () => {
  let lab: ApiLab;
  let token: string;

  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'deployer');
    await accept('POST', '', { ...webDeployment(), replicas: 2, resources: { cpu: '100m' } });
  });
  afterEach(() => lab.stop());

  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    lab.ask(method, `/api/v1/deployments${path}`, { token, headers, ...(body !== undefined && { body }) });
  const accept = async (method: string, path: string, body?: unknown, headers = {}) => {
    const answer = await ask(method, path, body, headers);
    expect(answer.status, answer.text).to.be.below(300);
    await lab.cache.barrier();
    return answer;
  };
  const stored = async () =>
    (await lab.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`).join('\n');
  const read = async <T>(key: string) => {
    const entry = await lab.store.get(key);
    return entry && value<T>(entry);
  };
  const first = (body: Record<string, unknown>) =>
    (body['rejections'] as readonly Readonly<Record<string, unknown>>[])[0];
  const warnings = (body: Record<string, unknown>) =>
    (body['warnings'] as readonly { code: string; field: string; message: string }[]).map(({ code, field }) => [
      code,
      field,
    ]);

  for (const [name, body, code, field] of refused) {
    it(`refuse ${name} with ${code} and store nothing`, async () => {
      const before = await stored();
      for (const path of ['/web/scaling', '/web/scaling?dryRun=true']) {
        const answer = await ask('PUT', path, body);
        expect(answer.status, answer.text).to.equal(422);
        expect(first(answer.body)).to.include({ code, field });
      }
      expect(await stored()).to.equal(before);
    });
  }

  it('refuse what does not exist, and whoever may not write', async () => {
    const before = await stored();
    for (const [method, path, code] of [
      ['PUT', '/wbe/scaling', 'deployment_not_found'],
      ['GET', '/wbe/scaling', 'deployment_not_found'],
      ['DELETE', '/wbe/scaling', 'deployment_not_found'],
      ['GET', '/web/scaling', 'scaling_policy_not_found'],
      ['DELETE', '/web/scaling', 'scaling_policy_not_found'],
    ] as const) {
      const answer = await ask(method, path, method === 'PUT' ? POLICY : undefined);
      expect([answer.status, first(answer.body)?.['code']]).to.deep.equal([404, code]);
    }
    const viewer = await lab.tenantToken(lab.a, 'viewer');
    const other = await lab.tenantToken(lab.b, 'deployer');
    const put = (as: string) => lab.ask('PUT', '/api/v1/deployments/web/scaling', { token: as, body: POLICY });
    expect((await put(viewer)).status).to.equal(403);
    expect((await put(other)).status).to.equal(404);
    expect((await stored()).replace(/\ntokens.*/g, '')).to.equal(before.replace(/\ntokens.*/g, ''));
  });

  it('are stored, shown, changed, repeated and removed', async () => {
    const made = await accept('PUT', '/web/scaling', POLICY);
    expect(made.status).to.equal(201);
    expect(made.body).to.deep.include({ ...POLICY, stabilization: '5m', deployment: 'web' });
    expect(made.body['alterations']).to.deep.equal([{ field: 'stabilization', from: null, to: '5m', why: 'default' }]);
    const again = await accept('PUT', '/web/scaling', POLICY);
    expect([again.status, again.headers.get('etag')]).to.deep.equal([200, made.headers.get('etag')]);

    const shown = await accept('GET', '/web/scaling');
    expect(shown.body['status']).to.deep.include({ replicas: 2, base: 2 });
    expect(shown.body['current']).to.deep.equal({ measuredReplicas: 0 });
    const changed = await accept('PUT', '/web/scaling', { ...POLICY, maxReplicas: 9 });
    expect((changed.body['metadata'] as { generation: number }).generation).to.equal(2);

    const gone = await accept('DELETE', '/web/scaling');
    expect(gone.body).to.include({ maxReplicas: 9 });
    expect(await read(keys.scalingPolicy(lab.a, 'web'))).to.equal(undefined);
    const events = (await lab.store.list(ranges.events)).entries.map(entry => value<StoredEvent>(entry));
    expect(events.map(({ reason }) => reason)).to.include.members(['scaling_policy_set', 'scaling_policy_removed']);
  });

  it('are not stored in a dry run', async () => {
    const before = await stored();
    const dryRun = await ask('PUT', '/web/scaling?dryRun=true', { ...POLICY, minReplicas: 3 });
    expect(dryRun.body).to.include({ dryRun: true, change: 'create' });
    expect(warnings(dryRun.body)).to.deep.equal([['scaling_overrides_replicas', 'minReplicas']]);
    expect(await stored()).to.equal(before);
    await accept('PUT', '/web/scaling', POLICY);
    const kept = await stored();
    expect((await ask('DELETE', '/web/scaling?dryRun=true')).body).to.include({ change: 'delete' });
    expect(await stored()).to.equal(kept);
  });

  it('are changed only as the client has seen them, when it says so', async () => {
    const none = await ask('PUT', '/web/scaling', POLICY, { 'if-match': '"7"' });
    expect([none.status, first(none.body)?.['code']]).to.deep.equal([412, 'revision_mismatch']);
    const made = await accept('PUT', '/web/scaling', POLICY);
    const etag = made.headers.get('etag')!;
    await accept('PUT', '/web/scaling', { ...POLICY, maxReplicas: 5 }, { 'if-match': etag });
    for (const method of ['PUT', 'DELETE']) {
      const stale = await ask(method, '/web/scaling', method === 'PUT' ? POLICY : undefined, { 'if-match': etag });
      expect([stale.status, first(stale.body)?.['code']]).to.deep.equal([412, 'revision_mismatch']);
    }
    expect((await read<StoredScalingPolicy>(keys.scalingPolicy(lab.a, 'web')))?.maxReplicas).to.equal(5);
  });

  it('say what becomes of the replicas that a deployment asks for', async () => {
    await accept('PUT', '/web/scaling', POLICY);
    const within = await accept('PUT', '/web', { replicas: 3 });
    expect(warnings(within.body)).to.deep.equal([['scaling_moves_replicas', 'replicas']]);
    expect((await read<StoredDeployment>(keys.deployment(lab.a, 'web')))?.replicas).to.equal(3);
    const above = await accept('PUT', '/web?dryRun=true', { replicas: 9 });
    expect(warnings(above.body)).to.deep.include(['scaling_overrides_replicas', 'replicas']);
    expect(above.body['placement'], 'as many as would run').to.include({ unplaced: 4 });
    const same = await accept('PUT', '/web', { replicas: 3, labels: { team: 'a' } });
    expect(warnings(same.body)).to.deep.equal([]);
    const stops = await accept('PUT', '/web', { replicas: 0 });
    expect(warnings(stops.body)).to.deep.equal([]);
    const unmeasured = await accept('PUT', '/web', { resources: { memory: '64Mi' } });
    expect(warnings(unmeasured.body)).to.deep.equal([['scaling_request_missing', 'resources.cpu']]);
  });

  it('say that they run another number when the one that is stored is sent again', async () => {
    await accept('PUT', '/web/scaling', POLICY);
    const { metadata, replicas: base } = (await read<StoredDeployment>(keys.deployment(lab.a, 'web')))!;
    const record = { uid: metadata.uid, base, replicas: 4, reason: 'scaled_up', message: '' };
    await create(lab.store, keys.scaling(lab.a, 'web'), { ...record, at: '2030-01-01T00:00:00.000Z' });
    await lab.cache.barrier();
    for (const [query, more] of [
      ['', {}],
      ['?dryRun=true', {}],
      ['', { labels: { team: 'b' } }],
    ] as const) {
      const { body } = await accept('PUT', `/web${query}`, { replicas: base, ...more });
      expect(warnings(body), query).to.deep.equal([['scaling_overrides_replicas', 'replicas']]);
      expect(JSON.stringify(body)).to.contain(`4 replicas of it are run instead of ${base}`);
    }
    expect(warnings((await accept('PUT', '/web', { labels: { team: 'c' } })).body), 'not sent').to.deep.equal([]);
  });

  it('say that the deployment goes back to its spec when they end', async () => {
    await accept('PUT', '/web/scaling', POLICY);
    const { uid } = (await read<StoredDeployment>(keys.deployment(lab.a, 'web')))!.metadata;
    const record: ScalingRecord = {
      uid,
      base: 2,
      replicas: 4,
      reason: 'scaled_up',
      message: 'cpu 120 % of 60 %; 2 → 4 replicas',
      cpuPercent: 120,
      at: '2030-01-01T00:00:00.000Z',
    };
    await create(lab.store, keys.scaling(lab.a, 'web'), record);
    await lab.cache.barrier();
    const shown = await accept('GET', '/web/scaling');
    expect(shown.body['status']).to.deep.include({ replicas: 4, base: 2, cpuPercent: 120, reason: 'scaled_up' });
    expect(warnings((await accept('DELETE', '/web/scaling')).body)).to.deep.equal([['scaling_ended', 'replicas']]);
  });

  it('are refused for a deployment that is being deleted', async () => {
    await accept('DELETE', '/web');
    const before = await stored();
    const answer = await ask('PUT', '/web/scaling', POLICY);
    expect(first(answer.body)?.['code']).to.equal('deployment_being_deleted');
    expect(await stored()).to.equal(before);
  });
});
