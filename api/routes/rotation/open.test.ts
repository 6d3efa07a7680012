import { expect } from 'chai';

import { keys, ranges } from '../../../crds/keys/index.js';
import type { RotationProgress, RotationRecord } from '../../../crds/rotation/index.js';
import type { SecretIntent } from '../../../pkg/material/index.js';
import {
  type CredentialPath,
  type NewVersion,
  toCredentialPath,
  toSecretDocument,
} from '../../../pkg/secrets/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { ApiLab, type LabResponse, webDeployment } from '../../api-lab.testing.js';

const PATH = 'deployments/web-db';

describe('while a credential is rotated', () => {
  let lab: ApiLab;
  let token: string;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    await put({ values: { user: 'shop', password: 'old' } });
    await post('web', { secrets: [reference()] });
  });
  afterEach(() => lab.stop());

  const path = () => toCredentialPath(lab.a, PATH);
  const reference = (more: Readonly<Record<string, unknown>> = {}) => ({
    name: 'DB',
    vault_path: PATH,
    anchor: 'process',
    ...more,
  });
  const put = (body: unknown, query = '') => lab.ask('PUT', `/api/v1/secrets/${PATH}${query}`, { token, body });
  const remove = () => lab.ask('DELETE', `/api/v1/secrets/${PATH}`, { token });
  const post = (name: string, more: Readonly<Record<string, unknown>>) =>
    lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name, more) });
  const change = (body: unknown, name = 'web') => lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body });
  const rotate = (phase: string, name = 'web', on = lab) =>
    on.ask('POST', `/api/v1/deployments/${name}/secrets/rotate`, { token, body: { phase } });
  const asked = async () => value<RotationRecord>((await lab.store.get(keys.rotation(lab.a, 'web-db')))!);
  const state = async () => {
    const reading = await lab.secrets.state(path());
    return reading.kind === 'found' ? reading.state : undefined;
  };
  /** What the phaser would say of the phase that was asked for. */
  const say = async (holds: boolean) => {
    const { id, phase } = await asked();
    const key = keys.rotationProgress(lab.a, 'web-db');
    const at = (await lab.store.get(key))?.revision ?? 0;
    const waits = holds ? {} : { waitsFor: 'a test' };
    const rest = { staged: true, raised: {}, returned: {}, at: '' };
    const progress: RotationProgress = { id, phase, holds, ...rest, ...waits };
    await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(progress) }], deletes: [] });
  };
  const walk = async (...phases: readonly string[]) => {
    for (const phase of phases) {
      await rotate(phase);
      await say(true);
    }
  };
  const verdict = ({ status, body }: LabResponse) => [status, body['code'], body['field']];
  const readGeneration = ({ body }: LabResponse) => (body['metadata'] as { generation: number }).generation;
  /** Asks, and expects a refusal that leaves both stores as they were. */
  const refused = async (ask: () => Promise<LabResponse>, field: string) => {
    const before = [await lab.store.revision(), await state()];
    expect(verdict(await ask())).to.deep.equal([409, 'secret_rotation_open', field]);
    expect([await lab.store.revision(), await state()]).to.deep.equal(before);
  };

  const open: readonly [name: string, reach: () => Promise<unknown>][] = [
    ['stage', () => rotate('stage')],
    ['stage that holds', () => walk('stage')],
    ['promote', () => walk('stage', 'promote')],
    ['verify', () => walk('stage', 'promote', 'verify')],
    ['retire that does not hold', () => walk('stage', 'promote', 'verify').then(() => rotate('retire'))],
    ['abort that does not hold', () => walk('stage').then(() => rotate('abort'))],
  ];
  for (const [name, reach] of open) {
    it(`no other request writes it: ${name}`, async () => {
      await reach();
      await refused(() => put({ values: { password: 'other' } }), 'resource');
      await refused(() => put({ generate: { keys: ['password'] } }), 'resource');
      await refused(() => put({ values: { password: 'other' } }, '?dryRun=true'), 'resource');
      await refused(() => change({ secrets: [reference({ values: { password: 'x' } })] }), 'secrets[0].values');
    });
  }

  for (const [name, phases] of [
    ['retired', ['stage', 'promote', 'verify', 'retire']],
    ['conflictRevision back', ['stage', 'abort']],
  ] as const) {
    it(`it can be written once the rotation is ${name}`, async () => {
      await walk(...phases);
      expect((await put({ values: { password: 'other' } })).status).to.equal(200);
    });
  }

  for (const [name, reach] of open) {
    it(`it cannot be deleted, even when no deployment refers to it: ${name}`, async () => {
      await reach();
      const key = keys.deployment(lab.a, 'web');
      const entry = (await lab.store.get(key))!;
      await lab.store.commit({ guards: [{ key, at: entry.revision }], puts: [], deletes: [key] });
      await refused(remove, 'resource');
    });
  }

  describe('a deployment', () => {
    beforeEach(() => walk('stage'));
    const drop = 'secrets';
    const refusals: readonly [name: string, document: () => object, field: string][] = [
      ['material', () => ({ secrets: [reference({ values: { user: 'shop' } })] }), 'secrets[0].values'],
      ['a key to mint', () => ({ secrets: [reference({ generate: { keys: ['salt'] } })] }), 'secrets[0].generate'],
      ['no reference', () => ({ secrets: [] }), drop],
      ['no list', () => ({ secrets: null }), drop],
      ['another reference to it', () => ({ secrets: [reference(), reference({ name: 'ALSO' })] }), drop],
      ['another anchor', () => ({ secrets: [reference({ anchor: 'external' })] }), drop],
      ['another path', () => ({ secrets: [reference({ vault_path: 'deployments/other' })] }), drop],
    ];
    for (const [name, document, field] of refusals) {
      it(`is not changed to have ${name}`, () => refused(() => change(document()), field));
    }

    it('may be applied again, and changed in everything else', async () => {
      const same = { secrets: [reference({ generate: { keys: ['password'] } })] };
      const again = await change(same);
      expect([again.status, readGeneration(again)]).to.deep.equal([200, 1]);
      expect((await change({ ...same, replicas: 3 })).status).to.equal(200);
      expect(
        (await change({ secrets: [reference(), reference({ name: 'O', vault_path: 'deployments/o' })] })).status,
      ).to.equal(200);
      expect(await state()).to.deep.equal({ last: 1, current: 1 });
    });

    it('may add a reference to it, but no material for it', async () => {
      expect((await post('late', { secrets: [reference()] })).status).to.equal(201);
      const bringing = () => post('later', { secrets: [reference({ values: { password: 'x' } })] });
      await refused(bringing, 'secrets[0].values');
    });
  });

  describe('by one deployment, another deployment that refers to it', () => {
    beforeEach(() => post('worker', { secrets: [reference()] }));

    it('takes part in the same rotation', async () => {
      await rotate('stage');
      const first = await asked();
      expect((await rotate('stage', 'worker')).status).to.equal(200);
      expect(await asked()).to.deep.equal(first);
      await say(true);
      expect((await rotate('promote', 'worker')).status).to.equal(200);
      expect(verdict(await rotate('stage'))).to.deep.equal([409, 'rotation_transition_invalid', 'phase']);
    });

    it('starts no rotation of its own at the same time, on another server either', async () => {
      const { store, keyring, secrets } = lab;
      const other = await new ApiLab({ store, keyring, secrets }).start();
      try {
        const answers = await Promise.all([
          rotate('stage'),
          rotate('stage', 'worker', other),
          rotate('stage', 'worker'),
        ]);
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
        expect(await asked()).to.include({ from: 1, to: 2 });
      } finally {
        await other.stop();
      }
    });

    it('aborts the rotation when the first is deleted', async () => {
      await walk('stage', 'promote');
      await lab.ask('DELETE', '/api/v1/deployments/web', { token });
      expect((await rotate('abort')).body['code']).to.equal('deployment_being_deleted');
      expect((await rotate('abort', 'worker')).status).to.equal(200);
      await say(true);
      expect((await rotate('stage', 'worker')).status).to.equal(200);
    });
  });

  it('no rotation of it starts while a request writes to it', async () => {
    const key = keys.intent(lab.a, 'pending');
    const writes = [{ path: PATH, version: 2 }];
    const at = new Date().toISOString();
    const intent: SecretIntent = { state: 'writing', tenant: lab.a, subject: 'web', operation: 'r', at, writes };
    const stored = await lab.store.commit({
      guards: [{ key, at: 0 }],
      puts: [{ key, bytes: encode(intent) }],
      deletes: [],
    });
    const answer = await rotate('stage');
    expect(verdict(answer)).to.deep.equal([409, 'rotation_transition_invalid', 'phase']);
    expect(answer.body['expected']).to.contain('a write that is under way');

    const revision = stored.stored ? stored.revision : 0;
    await lab.store.commit({ guards: [{ key, at: revision }], puts: [], deletes: [key] });
    expect((await rotate('stage')).status).to.equal(200);
  });

  it('material of a request from before the rotation is not stored, and leaves no version', async () => {
    const { store, secrets } = lab;
    const write = secrets.write.bind(secrets);
    let isBegun = false;
    secrets.write = async (at: CredentialPath, version: NewVersion) => {
      const begins = !isBegun;
      isBegun = true;
      // As another server would that has not heard of the request yet: its intent is younger than what it looked at.
      if (begins) await beginElsewhere();
      return write(at, version);
    };
    const beginElsewhere = async () => {
      const key = keys.rotation(lab.a, 'web-db');
      const conflict = keys.conflict(lab.a, 'secret.web-db');
      const rotation = { id: 'r', path: PATH, phase: 'stage', from: 1, to: 2, material: { by: 'platform' } };
      const conflictRevision = (await store.get(conflict))?.revision ?? 0;
      await store.commit({
        guards: [
          { key, at: 0 },
          { key: conflict, at: conflictRevision },
        ],
        puts: [
          { key, bytes: encode({ ...rotation, deployment: 'web', by: 'me', askedAt: '' }) },
          { key: conflict, bytes: encode({}) },
        ],
        deletes: [],
      });
    };
    try {
      const answer = await change({ secrets: [reference({ values: { password: 'late' } })] });
      expect(verdict(answer)).to.deep.equal([409, 'secret_rotation_open', 'secrets[0].values']);
      expect(await state()).to.deep.equal({ last: 2, current: 1 });
      expect((await store.list(ranges.intents)).entries).to.deep.equal([]);
    } finally {
      secrets.write = write;
    }
  });

  it('a rotation whose version number was taken starts again with the next stage request', async () => {
    await rotate('stage');
    const first = await asked();
    await lab.secrets.write(path(), { document: toSecretDocument({ password: 'won' }), after: 1, as: 'current' });
    expect((await rotate('stage')).status).to.equal(200);
    const second = await asked();
    expect(second).to.include({ phase: 'stage', from: 2, to: 3 });
    expect(second.id).not.to.equal(first.id);
  });
});
