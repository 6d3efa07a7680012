import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import { ROTATION_PHASER, type RotationProgress, type RotationRecord } from '../../../crds/rotation/index.js';
import { toCredentialPath } from '../../../pkg/secrets/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

const PATH = 'deployments/web-db';
const VALUE = 'correct-horse-battery';

describe('rotation over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    await lab.ask('PUT', `/api/v1/secrets/${PATH}`, { token, body: { values: { user: 'shop', password: 'old' } } });
    await deploy('web', [{ vault_path: PATH }]);
  });
  afterEach(() => lab.stop());

  const deploy = (name: string, secrets: readonly { vault_path: string; anchor?: string }[]) =>
    lab.ask('POST', '/api/v1/deployments', {
      token,
      body: webDeployment(name, {
        secrets: secrets.map((entry, position) => ({ name: `S${position}`, anchor: 'process', ...entry })),
      }),
    });
  const rotate = (body: unknown, name = 'web', query = '') =>
    lab.ask('POST', `/api/v1/deployments/${name}/secrets/rotate${query}`, { token, body });
  const show = (query = '') => lab.ask('GET', `/api/v1/deployments/web/secrets/rotation${query}`, { token });
  const state = async () => {
    const reading = await lab.secrets.state(toCredentialPath(lab.a, PATH));
    return reading.kind === 'found' ? reading.state : undefined;
  };
  const asked = async () => {
    const entry = await lab.store.get(keys.rotation(lab.a, 'web-db'));
    return entry && value<RotationRecord>(entry);
  };
  /** What the phaser would say. */
  const say = async (change: Partial<RotationProgress> = { holds: true }) => {
    const { id, phase } = (await asked())!;
    const key = keys.rotationProgress(lab.a, 'web-db');
    const progress: RotationProgress = {
      id,
      phase,
      holds: false,
      staged: true,
      raised: {},
      returned: {},
      at: '',
      ...change,
    };
    const at = (await lab.store.get(key))?.revision ?? 0;
    await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(progress) }], deletes: [] });
  };

  it('[3.15 4.9] passes through its phases, each requested once and repeatable', async () => {
    expect((await show()).body).to.deep.include({ phase: 'idle', next: 'stage', secret: 'web-db', holds: true });
    for (const phase of ['stage', 'promote', 'verify', 'retire']) {
      const answer = await rotate({ phase });
      expect([answer.status, answer.body['phase'], answer.body['holds']]).to.deep.equal([200, phase, false]);
      const repeated = await rotate({ phase });
      expect(repeated.status).to.equal(200);
      expect((await asked())?.phase).to.equal(phase);
      await say();
    }
    expect((await show()).body).to.deep.include({ phase: 'idle', next: 'stage' });
    expect((await rotate({ phase: 'retire' })).status).to.equal(200);
    expect((await rotate({ phase: 'stage' })).body['phase']).to.equal('stage');
  });

  it('reserves the number of the new version, and leaves generation to the rotation phaser', async () => {
    await rotate({ phase: 'stage', generate: { keys: ['password'] } });
    const record = await asked();
    expect(record).to.deep.include({ from: 1, to: 2, path: PATH, phase: 'stage' });
    expect(record?.material).to.deep.include({ by: 'platform' });
    expect(await state()).to.deep.equal({ last: 1, current: 1 });
  });

  it('[2.4.29] announces the keys that a stage without material mints, those that were supplied included', async () => {
    for (const query of ['?dryRun=true', '']) {
      const { body } = await rotate({ phase: 'stage' }, 'web', query);
      const [minted, ...others] = body['alterations'] as { field: string; from: unknown; to: unknown }[];
      expect(others).to.deep.equal([]);
      expect(minted).to.deep.include({ field: 'generate', from: null, to: { keys: ['password', 'user'] } });
    }
    const named = await rotate({ phase: 'stage', generate: { keys: ['password'] } });
    expect(named.body['alterations']).to.deep.equal([]);
  });

  it('does not ask for values again that it has just been given', async () => {
    const { body } = await rotate({ phase: 'stage', values: { password: VALUE } });
    expect(body['warnings']).to.deep.equal([]);
    expect(body['waitsFor']).to.equal(ROTATION_PHASER);
    expect(body['alterations']).to.deep.equal([]);
  });

  it('stages the values of the caller over the current ones, and shows no value', async () => {
    const answer = await rotate({ phase: 'stage', values: { password: VALUE } });
    expect(await state()).to.deep.equal({ last: 2, current: 1, pending: 2 });
    const reading = await lab.secrets.read(toCredentialPath(lab.a, PATH), 2);
    const document = reading.kind === 'found' ? reading.document : undefined;
    expect([...(document ?? [])].map(([key, secret]) => [key, secret.reveal()])).to.deep.equal([
      ['user', 'shop'],
      ['password', VALUE],
    ]);
    await rotate({ phase: 'stage', values: { password: VALUE } });
    expect(await state()).to.deep.equal({ last: 2, current: 1, pending: 2 });
    const stored = (await lab.store.list('')).entries.map(({ bytes }) => bytes.toString()).join('\n');
    expect(answer.text + stored).not.to.contain(VALUE);

    const list = await lab.ask('GET', '/api/v1/secrets', { token });
    const one = await lab.ask('GET', `/api/v1/secrets/${PATH}`, { token });
    const items = list.body['items'] as { path: string; version: number; rotation?: object }[];
    const listed = items.find(({ path }) => path === PATH);
    expect([listed?.version, one.body['version']], 'what containers get').to.deep.equal([1, 1]);
    expect(listed?.rotation).to.include({ secret: 'web-db', phase: 'stage', next: 'promote', deployment: 'web' });
    expect(items.filter(({ rotation }) => rotation)).to.have.length(1);
    await rotate({ phase: 'abort' });
    await say();
    const after = await lab.ask('GET', '/api/v1/secrets', { token });
    expect(after.text).to.include(PATH).and.not.include('"rotation"');
  });

  const refusals: readonly [
    name: string,
    before: readonly string[],
    body: unknown,
    code: string,
    field: string,
    expected?: string,
  ][] = [
    ['[3.17] a phase too early', [], { phase: 'promote' }, 'rotation_transition_invalid', 'phase', 'stage'],
    ['[7.3.34] a phase too late', ['stage'], { phase: 'retire' }, 'rotation_transition_invalid', 'phase', 'promote'],
    ['an unknown phase', [], { phase: 'jump' }, 'rotation_transition_invalid', 'phase', 'stage'],
    ['no phase', [], {}, 'rotation_transition_invalid', 'phase', 'stage'],
    ['an abort of nothing', [], { phase: 'abort' }, 'rotation_transition_invalid', 'phase', 'stage'],
    [
      'an abort after the end',
      ['stage', 'promote', 'verify', 'retire'],
      { phase: 'abort' },
      'rotation_transition_invalid',
      'phase',
      'stage',
    ],
    ['a secret of others', [], { phase: 'stage', secret: 'other' }, 'field_invalid', 'secret'],
    ['material after stage', ['stage'], { phase: 'promote', values: { a: 'b' } }, 'field_invalid', 'values'],
    ['a bad recipe', [], { phase: 'stage', generate: { keys: [] } }, 'secret_generate_keys_required', 'generate.keys'],
  ];
  for (const [name, before, body, code, field, expected] of refusals) {
    it(`refuses ${name}`, async () => {
      for (const phase of before) {
        await rotate({ phase });
        await say();
      }
      const revision = await lab.store.revision();
      const answer = await rotate(body);
      expect([answer.body['code'], answer.body['field']]).to.deep.equal([code, field]);
      if (expected !== undefined) expect(answer.body['expected']).to.equal(expected);
      expect(await lab.store.revision()).to.equal(revision);
    });
  }

  it('[3.17] refuses the next phase until the current one is reached, and names what it waits for', async () => {
    await rotate({ phase: 'stage' });
    await say({ holds: false, waitsFor: 'the secrets store, which cannot be reached' });
    const answer = await rotate({ phase: 'promote' });
    expect([answer.status, answer.body['code']]).to.deep.equal([409, 'rotation_transition_invalid']);
    expect(answer.body['expected']).to.contain('promote').and.to.contain('the secrets store, which cannot be reached');
  });

  it('can be aborted until it retires, and then starts again', async () => {
    await rotate({ phase: 'stage' });
    await say();
    await rotate({ phase: 'promote' });
    expect((await rotate({ phase: 'abort' })).body['isAborting']).to.equal(true);
    expect((await rotate({ phase: 'stage' })).status).to.equal(409);
    await say();
    expect((await rotate({ phase: 'abort' })).status).to.equal(200);
    expect((await show()).body).to.deep.include({ phase: 'idle', next: 'stage' });
    expect((await rotate({ phase: 'stage' })).status).to.equal(200);
  });

  it('must name the secret when the deployment has several, and leaves the others alone', async () => {
    await lab.ask('PUT', '/api/v1/secrets/deployments/smtp', { token, body: { values: { password: 'x' } } });
    await deploy('two', [{ vault_path: PATH }, { vault_path: 'deployments/smtp' }]);
    expect((await rotate({ phase: 'stage' }, 'two')).body['field']).to.equal('secret');
    expect((await rotate({ phase: 'stage', secret: 'smtp' }, 'two')).status).to.equal(200);
    // One credential is rotated once for all who refer to it.
    expect((await rotate({ phase: 'stage', secret: 'web-db' }, 'two')).status).to.equal(200);
    expect((await show()).body['phase']).to.equal('stage');
  });

  it('is shown for the secret that is being rotated rather than for an aborted one', async () => {
    await lab.ask('PUT', '/api/v1/secrets/deployments/smtp', { token, body: { values: { password: 'x' } } });
    const secrets = [PATH, 'deployments/smtp'].map((vault_path, position) => ({
      name: `S${position}`,
      anchor: 'process',
      vault_path,
    }));
    await lab.ask('PUT', '/api/v1/deployments/web', { token, body: { secrets } });
    for (const phase of ['stage', 'abort']) {
      await rotate({ phase, secret: 'web-db' });
      await say();
    }
    await rotate({ phase: 'stage', secret: 'smtp' });
    expect((await show()).body).to.deep.include({ secret: 'smtp', phase: 'stage' });
  });

  it('[2.4.30] needs values for an external secret', async () => {
    await deploy('outside', [{ vault_path: PATH, anchor: 'external' }]);
    const refused = await rotate({ phase: 'stage' }, 'outside');
    expect([refused.status, refused.body['code'], refused.body['field']]).to.deep.equal([
      422,
      'secret_write_empty',
      'values',
    ]);
    expect((await rotate({ phase: 'stage', values: { password: VALUE } }, 'outside')).status).to.equal(200);
  });

  it('needs values or a generation for a secret without a version', async () => {
    await deploy('fresh', [{ vault_path: 'deployments/fresh' }]);
    expect((await rotate({ phase: 'stage' }, 'fresh')).body['code']).to.equal('secret_write_empty');
    expect((await rotate({ phase: 'stage', generate: { keys: ['password'] } }, 'fresh')).status).to.equal(200);
  });

  it('shows the version and the health of each replica', async () => {
    const replica = (slot: number, secretsVersion: number, version: number) => ({
      uid: `rep_${slot}`,
      tenant: lab.a,
      deployment: 'web',
      slot,
      nodeId: 'node_1',
      template: { image: 'web:1', secretsVersion },
      resolved: { versions: { [PATH]: version }, at: '' },
    });
    const put = (key: string, document: unknown) =>
      lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    await put(keys.replica(lab.a, 'web', 0), replica(0, 1, 2));
    await put(keys.replica(lab.a, 'web', 1), replica(1, 0, 1));
    const report = (slot: number, health: string) => ({
      replica: `rep_${slot}`,
      deployment: 'web',
      slot,
      nodeId: 'node_1',
      templateHash: 'h',
      state: 'running',
      health,
      restarts: 0,
      at: new Date(0).toISOString(),
    });
    await put(keys.report(lab.a, 'node_1', 'rep_0'), report(0, 'healthy'));
    await put(keys.report(lab.a, 'node_1', 'rep_1'), report(1, 'unhealthy'));
    const shown = await show();
    expect(shown.body).to.include({ phase: 'idle', next: 'stage', secretsVersion: 0 });
    expect(shown.body['replicas']).to.deep.equal([
      { replica: 0, secretsVersion: 1, version: 2, healthy: true },
      { replica: 1, secretsVersion: 0, version: 1, healthy: false },
    ]);
  });

  it('is not requested by a dry run', async () => {
    const dryRun = await rotate({ phase: 'stage' }, 'web', '?dryRun=true');
    expect(dryRun.body).to.deep.include({ dryRun: true, change: 'update' });
    expect(await asked()).to.equal(undefined);
  });

  it('needs the role deployer of the same tenant', async () => {
    const viewer = await lab.tenantToken(lab.a, 'viewer');
    const other = await lab.tenantToken(lab.b);
    const ask = (by: string) =>
      lab.ask('POST', '/api/v1/deployments/web/secrets/rotate', { token: by, body: { phase: 'stage' } });
    expect((await ask(viewer)).body['code']).to.equal('auth_forbidden');
    expect((await ask(other)).body['code']).to.equal('deployment_not_found');
    expect((await rotate({ phase: 'stage' }, 'nobody')).body['code']).to.equal('deployment_not_found');
  });
});
