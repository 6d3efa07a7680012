import { expect } from 'chai';

import type { StoredVolume } from '../../../crds/volume/index.js';
import { keys } from '../../../crds/keys/index.js';
import { toCredentialPath } from '../../../pkg/secrets/index.js';
import { create } from '../../../pkg/store/index.js';
import { ApiLab, type LabResponse, webDeployment } from '../../api-lab.testing.js';
import { makeVolume } from '../../../crds/volume/volume.testing.js';

const PATH = 'deployments/web-db';
const VOLUME = `vol_${'1'.repeat(26)}`;

describe('references of deployments to a secret', () => {
  let lab: ApiLab;
  let token: string;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    await create(lab.store, keys.volume(lab.a, VOLUME), volume(lab.a));
    await create(lab.store, keys.volumeStatus(lab.a, VOLUME), { phase: 'Ready', copies: [] });
    await put({ values: { user: 'shop', password: 'old' } });
  });
  afterEach(() => lab.stop());

  const volume = (tenant: string): StoredVolume =>
    makeVolume(
      { tenant, uid: VOLUME, generation: 1, createdAt: '', updatedAt: '', specHash: '' },
      { class: 'ephemeral', sizeBytes: 1024 },
    );
  const put = (body: unknown, query = '') => lab.ask('PUT', `/api/v1/secrets/${PATH}${query}`, { token, body });
  const deploy = (name: string, more: object) =>
    lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name, { replicas: 1, ...more }) });
  const change = (body: unknown, query = '') => lab.ask('PUT', `/api/v1/deployments/web${query}`, { token, body });
  const reference = (anchor: string, more: object = {}) => ({ name: 'DB', vault_path: PATH, anchor, ...more });
  const anchored = {
    secrets: [reference(`volume(${VOLUME})`)],
    volumes: [{ volumeId: VOLUME, type: 'volume', mountPath: '/data' }],
  };
  const values = async () => {
    const reading = await lab.secrets.read(toCredentialPath(lab.a, PATH));
    const document = reading.kind === 'found' ? [...reading.document] : [];
    return Object.fromEntries(document.map(([key, secret]) => [key, secret.reveal()]));
  };
  const verdict = ({ status, body }: LabResponse) => [status, body['code'], body['field']];

  describe('with the anchor external', () => {
    beforeEach(() => deploy('outside', { secrets: [reference('external')] }));

    for (const query of ['', '?dryRun=true']) {
      it(`[2.4.12 2.4.30] forbid generating it ${query}`, async () => {
        for (const body of [
          { generate: { keys: ['password'] } },
          { generate: { keys: ['salt'] }, values: { a: 'b' } },
        ]) {
          expect(verdict(await put(body, query))).to.deep.equal([422, 'secret_external_not_writable', 'generate']);
        }
        expect(await values()).to.deep.equal({ user: 'shop', password: 'old' });
      });
    }

    it('let its owner write values', async () => {
      expect((await put({ values: { password: 'supplied' } })).status).to.equal(200);
      expect(await values()).to.deep.equal({ password: 'supplied' });
    });
  });

  describe('with the anchor of a volume', () => {
    beforeEach(async () => {
      const answer = await deploy('db', anchored);
      expect(answer.status, answer.text).to.equal(201);
    });

    it('[2.4.12] keep an existing value instead of generating it again, and announce that', async () => {
      const body = { generate: { keys: ['password', 'salt'] }, values: { user: 'other' } };
      const dryRun = await put(body, '?dryRun=true');
      const answer = await put(body);
      for (const { body: told } of [dryRun, answer]) {
        expect(told['alterations']).to.deep.equal([
          {
            field: 'generate.keys',
            from: ['password', 'salt'],
            to: ['salt'],
            why: 'the material exists and is kept; a rotation mints it again',
          },
        ]);
      }
      expect(answer.body['keys']).to.deep.equal(['password', 'salt', 'user']);
      const { salt, ...rest } = await values();
      expect(rest).to.deep.equal({ user: 'other', password: 'old' });
      expect(salt).to.be.a('string').with.length.greaterThan(20);
    });

    it('let a given value be written', async () => {
      const answer = await put({ values: { password: 'given' } });
      expect([answer.status, answer.body['alterations']]).to.deep.equal([200, []]);
      expect(await values()).to.deep.equal({ password: 'given' });
    });
  });

  it('[2.4.12] with the anchor process, let it be generated again', async () => {
    await deploy('web', { secrets: [reference('process')] });
    const answer = await put({ generate: { keys: ['password'] } });
    expect([answer.status, answer.body['alterations']]).to.deep.equal([200, []]);
    expect((await values())['password']).not.to.equal('old');
  });

  describe('are answered with a warning when a change drops them:', () => {
    const smtp = { name: 'SMTP', vault_path: 'deployments/smtp', anchor: 'process' };
    beforeEach(() => deploy('web', { secrets: [reference('process'), smtp] }));
    const dropped = (answer: LabResponse) =>
      (answer.body['warnings'] as { code: string; field: string; message: string }[])
        .filter(({ code }) => code !== 'secret_missing')
        .map(({ code, field, message }) => {
          expect([code, field]).to.deep.equal(['secret_reference_dropped', 'secrets']);
          return ['DB', 'SMTP'].filter(name => message.includes(`${name} (deployments/`)).join();
        });

    const cases: readonly [name: string, body: object, found: readonly string[]][] = [
      ['a shorter list', { secrets: [smtp] }, ['DB']],
      ['no list', { secrets: null }, ['DB', 'SMTP']],
      ['an empty list', { secrets: [] }, ['DB', 'SMTP']],
      ['another name', { secrets: [reference('process', { name: 'OTHER' }), smtp] }, ['DB']],
      ['another path', { secrets: [reference('process', { vault_path: 'deployments/new' }), smtp] }, ['DB']],
      ['another order', { secrets: [smtp, reference('process')] }, []],
      ['something else', { replicas: 3 }, []],
    ];
    for (const [name, body, found] of cases) {
      it(name, async () => {
        expect(dropped(await change(body, '?dryRun=true'))).to.deep.equal(found);
        expect(dropped(await change(body))).to.deep.equal(found);
        // It is gone then, and no news.
        expect(dropped(await change(body))).to.deep.equal([]);
      });
    }
  });
});
