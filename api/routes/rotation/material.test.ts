import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { RotationProgress, RotationRecord } from '../../../crds/rotation/index.js';
import {
  type CredentialPath,
  type NewVersion,
  SecretOutcomeUnknownFault,
  type SecretStore,
  SecretStoreUnavailableFault,
  toCredentialPath,
  toSecretDocument,
} from '../../../pkg/secrets/index.js';
import { destroyVersion } from '../../../pkg/secrets/destroy-version.testing.js';
import { encode, value } from '../../../pkg/store/index.js';
import { ApiLab, type LabResponse, webDeployment } from '../../api-lab.testing.js';

const PATH = 'deployments/web-db';
const OWED = 'rotation_values_not_staged values';
const RECIPE = { keys: ['password'], bytes: 24, encoding: 'hex' };
const manyKeys = (prefix: string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, position) => [`${prefix}_${position}`, 'x']));

describe('the material of a rotation', () => {
  let lab: ApiLab;
  let token: string;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    await put({ values: { user: 'shop', password: 'old' } });
    await deploy('web', 'process');
  });
  afterEach(() => lab.stop());

  const put = (body: unknown) => lab.ask('PUT', `/api/v1/secrets/${PATH}`, { token, body });
  const reference = (anchor: string, more: object = {}) => ({ name: 'DB', vault_path: PATH, anchor, ...more });
  const deploy = (name: string, anchor: string) =>
    lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name, { secrets: [reference(anchor)] }) });
  const rotate = (body: unknown, { name = 'web', query = '' } = {}) =>
    lab.ask('POST', `/api/v1/deployments/${name}/secrets/rotate${query}`, { token, body });
  const path = () => toCredentialPath(lab.a, PATH);
  const state = async () => {
    const reading = await lab.secrets.state(path());
    return reading.kind === 'found' ? reading.state : undefined;
  };
  const staged = async () => {
    const reading = await lab.secrets.read(path(), 2);
    return reading.kind === 'found' ? reading.document.get('password')?.reveal() : undefined;
  };
  const asked = async () => {
    const entry = await lab.store.get(keys.rotation(lab.a, 'web-db'));
    return entry && value<RotationRecord>(entry);
  };
  /** What the phaser would say. */
  const say = async (change: Partial<RotationProgress>) => {
    const { id, phase } = (await asked())!;
    const key = keys.rotationProgress(lab.a, 'web-db');
    const rest = { holds: true, staged: true, raised: {}, returned: {}, at: '' };
    const at = (await lab.store.get(key))?.revision ?? 0;
    const puts = [{ key, bytes: encode({ id, phase, ...rest, ...change }) }];
    await lab.store.commit({ guards: [{ key, at }], puts, deletes: [] });
  };
  /** Has the secrets store behave differently for one request. */
  const withSecrets = async (change: Partial<SecretStore>, ask: () => Promise<LabResponse>): Promise<LabResponse> => {
    const names = Object.keys(change) as (keyof SecretStore)[];
    Object.assign(lab.secrets, change);
    try {
      return await ask();
    } finally {
      for (const name of names) Reflect.deleteProperty(lab.secrets, name);
    }
  };
  const away = async () => {
    throw new SecretStoreUnavailableFault('away');
  };
  const unknown = async () => {
    throw new SecretOutcomeUnknownFault('unknown');
  };
  const forbidden = async () => ({ kind: 'forbidden' }) as const;
  const verdict = ({ status, body }: LabResponse) => [status, body['code'], body['field']];
  const warnings = ({ body }: LabResponse) =>
    (body['warnings'] as { code: string; field: string }[]).map(({ code, field }) => `${code} ${field}`);
  const takenBy = (password: string) =>
    lab.secrets.write(path(), { document: toSecretDocument({ user: 'shop', password }), after: 1, as: 'current' });

  describe('is checked before anything is stored, and refused:', () => {
    const cases: readonly [name: string, body: object, change: () => Partial<SecretStore>, code: string, at: string][] =
      [
        ['too many keys', { values: manyKeys('more', 63) }, () => ({}), 'field_invalid', 'values'],
        [
          'too many to mint',
          { generate: { keys: Object.keys(manyKeys('k', 63)) } },
          () => ({}),
          'field_invalid',
          'generate',
        ],
        [
          'an unreadable path',
          { values: { a: 'b' } },
          () => ({ read: forbidden }),
          'secret_path_namespace',
          'namespace',
        ],
        ['a store that is away', { values: { a: 'b' } }, () => ({ read: away }), 'secret_store_unavailable', 'request'],
      ];
    for (const [name, body, change, code, at] of cases) {
      for (const query of ['', '?dryRun=true']) {
        it(`${name} ${query}`, async () => {
          const revision = await lab.store.revision();
          const answer = await withSecrets(change(), () => rotate({ phase: 'stage', ...body }, { query }));
          expect([answer.body['code'], answer.body['field']]).to.deep.equal([code, at]);
          expect(await lab.store.revision()).to.equal(revision);
        });
      }
    }
  });

  for (const [name, write] of [
    ['is away', away],
    ['forbids it', forbidden],
  ] as const) {
    it(`is reported as missing, not refused, when it cannot be staged: the store ${name}`, async () => {
      const first = await withSecrets({ write }, () => rotate({ phase: 'stage', values: { password: 'new' } }));
      expect([first.status, first.body['phase'], first.body['holds']]).to.deep.equal([200, 'stage', false]);
      expect(warnings(first)).to.deep.equal([OWED]);
      // Before the phaser has looked.
      const again = await rotate({ phase: 'stage', values: { password: 'new' } });
      expect([again.status, warnings(again)]).to.deep.equal([200, []]);
      expect(await state()).to.deep.equal({ last: 2, current: 1, pending: 2 });
    });
  }

  it('with an unknown outcome of staging is answered with outcome_unknown', async () => {
    const answer = await withSecrets({ write: unknown }, () => rotate({ phase: 'stage', values: { password: 'new' } }));
    expect(answer.body['code']).to.equal('outcome_unknown');
  });

  describe('when another writer took the promised version number', () => {
    it('must be sent again for an external secret', async () => {
      await deploy('outside', 'external');
      await rotate({ phase: 'stage', values: { password: 'new' } });
      await destroyVersion(lab.secrets, path(), 2);
      expect(verdict(await rotate({ phase: 'stage' }))).to.deep.equal([422, 'secret_write_empty', 'values']);
      expect((await rotate({ phase: 'stage', values: { password: 'newer' } })).status).to.equal(200);
      expect(await asked()).to.deep.include({ from: 1, to: 3, material: { by: 'caller' } });
    });

    it('is generated as the first request asked', async () => {
      await rotate({ phase: 'stage', generate: RECIPE });
      const first = (await asked())!;
      await takenBy('won');
      expect((await rotate({ phase: 'stage' })).status).to.equal(200);
      expect(await asked()).to.deep.include({ from: 2, to: 3, material: first.material });
    });
  });

  describe('when one deployment refers to the secret as external', () => {
    beforeEach(() => deploy('outside', 'external'));
    const external = 'secret_external_not_writable';

    it('is not generated for a rotation of another deployment', async () => {
      expect(verdict(await rotate({ phase: 'stage' }))).to.deep.equal([422, 'secret_write_empty', 'values']);
      const minted = await rotate({ phase: 'stage', values: { user: 'x' }, generate: RECIPE });
      expect(verdict(minted)).to.deep.equal([422, external, 'generate']);
      expect((await rotate({ phase: 'stage', values: { password: 'new' } })).status).to.equal(200);
    });

    const documents: readonly [more: object, field: string | undefined][] = [
      [{ values: { password: 'mine' } }, 'secrets[0].values'],
      [{ generate: { keys: ['salt'] } }, 'secrets[0].generate'],
      [{ generate: { keys: ['password'] } }, undefined], // it has a value: nothing would be minted
    ];
    for (const [more, field] of documents) {
      it(`is not written by the document of another deployment: ${JSON.stringify(more)}`, async () => {
        const body = { secrets: [reference('process', more)] };
        const answer = await lab.ask('PUT', '/api/v1/deployments/web', { token, body });
        expect(verdict(answer)).to.deep.equal(
          field === undefined ? [200, undefined, undefined] : [422, external, field],
        );
        expect(await state()).to.deep.equal({ last: 1, current: 1 });
      });
    }
  });

  describe('when it is sent again', () => {
    const IGNORED = 'rotation_material_ignored';
    const cases: readonly [name: string, first: object, second: object, found: readonly string[]][] = [
      ['the same values', { values: { password: 'a' } }, { values: { password: 'a' } }, []],
      ['other values', { values: { password: 'a' } }, { values: { password: 'b' } }, [`${IGNORED} values`]],
      ['values after none', {}, { values: { password: 'b' } }, [`${IGNORED} values`]],
      ['nothing after values', { values: { password: 'a' } }, {}, []],
      ['the same recipe', { generate: RECIPE }, { generate: RECIPE }, []],
      ['another recipe', { generate: RECIPE }, { generate: { ...RECIPE, bytes: 32 } }, [`${IGNORED} generate`]],
      ['both, as before', { values: { user: 'a' }, generate: RECIPE }, { values: { user: 'a' }, generate: RECIPE }, []],
    ];
    for (const [name, first, second, found] of cases) {
      it(`changes nothing, and is warned of where it differs: ${name}`, async () => {
        await rotate({ phase: 'stage', ...first });
        const before = [await asked(), await state(), await staged()];
        const answer = await rotate({ phase: 'stage', ...second });
        expect([answer.status, warnings(answer)]).to.deep.equal([200, found]);
        expect([await asked(), await state(), await staged()]).to.deep.equal(before);
      });
    }
  });

  it('leaves no version when it arrives after the rotation was aborted', async () => {
    const write = lab.secrets.write.bind(lab.secrets);
    const late = async (at: CredentialPath, version: NewVersion) => {
      await rotate({ phase: 'abort' });
      await say({ staged: false });
      return write(at, version);
    };
    const answer = await withSecrets({ write: late }, () => rotate({ phase: 'stage', values: { password: 'new' } }));
    expect([answer.status, warnings(answer)]).to.deep.equal([200, [OWED]]);
    expect(await state()).to.deep.equal({ last: 2, current: 1 });
    expect((await put({ values: { password: 'other' } })).status).to.equal(200);
  });

  it('stays with another rotation that has recorded the version before it arrives', async () => {
    await rotate({ phase: 'stage', values: { password: 'new' } });
    await say({});
    const write = lab.secrets.write.bind(lab.secrets);
    const read = async () => ({ kind: 'missing' }) as const;
    const late = async (at: CredentialPath, version: NewVersion) => {
      await rotate({ phase: 'abort' });
      await say({ holds: false });
      Reflect.deleteProperty(lab.secrets, 'read');
      return write(at, { ...version, document: toSecretDocument({ user: 'shop', password: 'new' }) });
    };
    await withSecrets({ read, write: late }, () => rotate({ phase: 'stage', values: { password: 'new' } }));
    expect(await state()).to.deep.equal({ last: 2, current: 1, pending: 2 });
  });

  it('is refused with an abort, the first and every repeat', async () => {
    await rotate({ phase: 'stage' });
    for (let round = 0; round < 2; round++) {
      const answer = await rotate({ phase: 'abort', bogus: 1, values: { password: 'x' } });
      const rejections = [answer.body, ...((answer.body['also'] as object[] | undefined) ?? [])];
      expect(answer.status).to.equal(422);
      expect(JSON.stringify(rejections)).to.contain('field_unknown');
      expect((await rotate({ phase: 'abort' })).status).to.equal(200);
    }
  });
});
