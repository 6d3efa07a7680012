import { expect } from 'chai';

import { keys, ranges } from '../../../crds/keys/index.js';
import {
  readKeyNames,
  type SecretStore,
  SecretStoreUnavailableFault,
  toCredentialPath,
  UnreadableSecretFault,
} from '../../../pkg/secrets/index.js';
import { encode } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

const VALUE = 'correct-horse-battery';
const PATH = 'deployments/web-db';

describe('secrets over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
  });
  afterEach(() => lab.stop());

  const put = (path: string, body: unknown, query = '') =>
    lab.ask('PUT', `/api/v1/secrets/${path}${query}`, { token, body });
  const post = (name: string, more: Readonly<Record<string, unknown>>, query = '') =>
    lab.ask('POST', `/api/v1/deployments${query}`, { token, body: webDeployment(name, more) });
  const entry = (more: Readonly<Record<string, unknown>> = {}) => ({
    name: 'DB',
    vault_path: PATH,
    anchor: 'process',
    ...more,
  });
  const known = (path = PATH) => readKeyNames(lab.secrets, toCredentialPath(lab.a, path));
  const password = async () => {
    const reading = await lab.secrets.read(toCredentialPath(lab.a, PATH));
    return reading.kind === 'found' ? reading.document.get('password')?.reveal() : undefined;
  };
  const storeText = async () => (await lab.store.list('')).entries.map(({ bytes }) => bytes.toString()).join('\n');

  it('[4.28] are written in versions, and no value is ever answered or stored in clear', async () => {
    const first = await put(PATH, { values: { user: 'shop', password: VALUE } });
    expect([first.status, first.body['version'], first.body['keys']]).to.deep.equal([201, 1, ['password', 'user']]);
    const second = await put(PATH, { generate: { keys: ['password'] }, values: { user: 'shop' } });
    expect([second.status, second.body['version']]).to.deep.equal([200, 2]);

    expect(first.text + second.text).not.to.contain(VALUE);
    expect(await storeText()).not.to.contain(VALUE);
    expect(await known()).to.deep.include({ kind: 'found', version: 2, keys: ['password', 'user'] });
    const { entries } = await lab.store.list(ranges.of(ranges.events, lab.a));
    expect(entries.filter(({ bytes }) => bytes.includes('secret.written'))).to.have.length(2);
  });

  it('are written and deleted only at the version that If-Match names', async () => {
    const first = await put(PATH, { values: { password: VALUE } });
    expect(first.headers.get('etag')).to.equal('"1"');
    const at = (version: number) => ({ token, headers: { 'if-match': `"${version}"` } });
    const change = { values: { password: 'another-horse' } };
    const ask = (method: string, options: object) => lab.ask(method, `/api/v1/secrets/${PATH}`, options);
    for (const [method, body] of [
      ['PUT', { body: change }],
      ['DELETE', {}],
    ] as const) {
      const stale = await ask(method, { ...at(7), ...body });
      expect(stale.body['code'], stale.text).to.equal('revision_mismatch');
    }
    expect(await password()).to.equal(VALUE);
    expect((await ask('PUT', { ...at(1), body: change })).headers.get('etag')).to.equal('"2"');
    expect((await lab.ask('GET', `/api/v1/secrets/${PATH}`, { token })).headers.get('etag')).to.equal('"2"');
    expect((await ask('DELETE', at(2))).status).to.equal(200);
  });

  it('are reachable in a namespace called resources, beside the list at that path', async () => {
    expect((await put('resources/smtp', { values: { host: 'mail' } })).status).to.equal(201);
    const list = await lab.ask('GET', '/api/v1/secrets/resources', { token });
    expect(list.body['items']).to.deep.equal([]);
  });

  it('are not written by a dry run', async () => {
    const before = await lab.store.revision();
    const dryRun = await put(PATH, { values: { password: VALUE } }, '?dryRun=true');
    expect(dryRun.body).to.deep.include({ dryRun: true, change: 'create' });
    expect(dryRun.body['object']).to.deep.include({ path: PATH, keys: ['password'], version: 1 });
    expect(dryRun.text).not.to.contain(VALUE);
    expect(await lab.store.revision()).to.equal(before);
  });

  it('are deleted, unless a deployment refers to them', async () => {
    await put(PATH, { values: { password: VALUE } });
    await post('web', { secrets: [entry()] });
    const remove = (query = '') => lab.ask('DELETE', `/api/v1/secrets/${PATH}${query}`, { token });
    const refused = await remove();
    expect([refused.status, refused.body['code'], refused.body['field']]).to.deep.equal([
      409,
      'secret_in_use',
      'resource',
    ]);

    await lab.ask('PUT', '/api/v1/deployments/web', { token, body: { secrets: null } });
    expect((await remove('?dryRun=true')).body['change']).to.equal('delete');
    expect((await remove()).status).to.equal(200);
    expect((await known()).kind).to.equal('missing');
    expect((await remove()).body['code']).to.equal('resource_not_found');
  });

  it('are listed without parsing the deployments that refer to none', async () => {
    await post('web', { secrets: [entry()] });
    await post('plain', {});
    const all = ranges.of(ranges.deployments, lab.a);
    const [snapshot, list] = [lab.cache.snapshot.bind(lab.cache), lab.cache.list.bind(lab.cache)];
    const walked: string[] = [];
    lab.cache.snapshot = prefix => (walked.push(prefix), snapshot(prefix));
    lab.cache.list = prefix => (walked.push(prefix), list(prefix));
    const { body } = await lab.ask('GET', '/api/v1/secrets/resources', { token });

    expect(body['items']).to.deep.equal([{ name: 'web-db', path: PATH, deployments: ['web'] }]);
    expect(body['revision']).to.equal(String(lab.cache.revision));
    expect(walked).not.to.include(all);
  });

  it('[4.12] show the deployments that refer to them, and the keys used', async () => {
    const composedSecrets = { URL: 'postgres://{{secret.web-db.user}}:{{secret.web-db.password}}@db' };
    await post('web', { secrets: [entry()], composedSecrets });
    await post('worker', { secrets: [entry({ name: 'STORE' })] });
    const list = await lab.ask('GET', '/api/v1/secrets/resources', { token });
    expect(list.body['items']).to.deep.equal([{ name: 'web-db', path: PATH, deployments: ['web', 'worker'] }]);

    const { body } = await lab.ask('GET', '/api/v1/secrets/resources/web-db/consumers', { token });
    const consumers = body['consumers'] as { deployment: string; templates: unknown }[];
    expect(consumers.map(({ deployment }) => deployment)).to.deep.equal(['web', 'worker']);
    expect(consumers[0]?.templates).to.deep.equal([{ variable: 'URL', keys: ['user', 'password'] }]);
    const other = await lab.ask('GET', '/api/v1/secrets/resources/none/consumers', { token });
    expect([other.status, other.body['code']]).to.deep.equal([404, 'resource_not_found']);
  });

  describe('sent with a deployment', () => {
    it('[2.4.18 2.4.22] are written, stripped from the record, and announced', async () => {
      const created = await post('web', {
        secrets: [entry({ values: { password: VALUE }, generate: { keys: ['salt'] } })],
      });
      expect(created.status).to.equal(201);
      expect(created.text).not.to.contain(VALUE);
      const fields = (created.body['alterations'] as { field: string }[]).map(({ field }) => field);
      expect(fields).to.include.members(['secrets[0].values', 'secrets[0].generate']);
      expect(await known()).to.deep.include({ kind: 'found', keys: ['password', 'salt'] });
      expect(await storeText()).not.to.contain(VALUE);
      expect((await lab.store.list(ranges.intents)).entries).to.deep.equal([]);
    });

    it('leave nothing behind when the record is not stored', async () => {
      await post('web', {});
      const refused = await post('web', { secrets: [entry({ values: { password: VALUE } })] });
      expect(refused.body['code']).to.equal('deployment_already_exists');
      expect(await known()).to.deep.include({ kind: 'missing' });
      expect((await lab.store.list(ranges.intents)).entries).to.deep.equal([]);
    });

    it('keep an earlier version current when the record is not stored', async () => {
      await put(PATH, { values: { password: 'earlier' } });
      await post('web', {});
      await post('web', { secrets: [entry({ values: { password: VALUE } })] });
      expect(await known()).to.deep.include({ kind: 'found', version: 1 });
    });

    it('are not written twice by the same document', async () => {
      await post('web', { secrets: [entry({ values: { password: VALUE } })] });
      const body = { secrets: [entry({ values: { password: VALUE } })] };
      const again = await lab.ask('PUT', '/api/v1/deployments/web', { token, body });
      expect([again.status, (again.body['metadata'] as { generation: number }).generation]).to.deep.equal([200, 1]);
      expect(await known()).to.deep.include({ version: 1 });
    });

    it('are generated once, however often the same document is applied', async () => {
      const document = { secrets: [entry({ generate: { keys: ['password'] } })] };
      expect((await post('web', document)).status).to.equal(201);
      const minted = await password();
      const before = await lab.store.revision();
      const again = await lab.ask('PUT', '/api/v1/deployments/web', { token, body: document });
      expect([again.status, (again.body['metadata'] as { generation: number }).generation]).to.deep.equal([200, 1]);
      expect([await lab.store.revision(), await password()]).to.deep.equal([before, minted]);
      const told = again.body['alterations'] as { field: string; why: string }[];
      expect(told.find(({ field }) => field === 'secrets[0].generate')?.why).to.contain('kept');
    });

    it('are generated for keys without a value, beside those that have one', async () => {
      await post('web', { secrets: [entry({ generate: { keys: ['password'] } })] });
      const minted = await password();
      const body = { secrets: [entry({ generate: { keys: ['password', 'salt'] } })] };
      expect((await lab.ask('PUT', '/api/v1/deployments/web', { token, body })).status).to.equal(200);
      expect(await known()).to.deep.include({ version: 2, keys: ['password', 'salt'] });
      expect(await password()).to.equal(minted);
    });

    it('[2.4.14 2.4.22 4.6] are shown by GET with everything but material', async () => {
      const sent = [
        entry({ values: { password: VALUE } }),
        entry({ name: 'KEY', vault_path: 'resources/key', generate: { keys: ['private'] } }),
        entry({ name: 'MAIL', vault_path: 'resources/mail', anchor: 'external', rotation: 'restart' }),
      ];
      await post('web', { secrets: sent });
      const shown = await lab.ask('GET', '/api/v1/deployments/web', { token });
      const references = sent.map(({ name, vault_path, anchor }) => ({
        name,
        vault_path,
        anchor,
        rotation: 'restart',
      }));
      expect(shown.body['secrets']).to.deep.equal(references);
      expect(shown.text).not.to.contain(VALUE).and.not.to.contain('generate');
      const list = await lab.ask('GET', '/api/v1/deployments', { token });
      expect((list.body['items'] as { secrets: unknown }[])[0]?.secrets).to.deep.equal(references);
    });

    it('are written when a replace changes nothing else', async () => {
      await post('web', { secrets: [entry({ values: { password: VALUE } })] });
      const body = { secrets: [entry({ values: { password: 'another-value' } })] };
      const changed = await lab.ask('PUT', '/api/v1/deployments/web', { token, body });
      expect((changed.body['metadata'] as { generation: number }).generation).to.equal(1);
      expect(await known()).to.deep.include({ version: 2 });
      expect((await lab.store.list(ranges.intents)).entries).to.deep.equal([]);
    });

    it('are shown by name in a dry run, and not written', async () => {
      const before = await lab.store.revision();
      const dryRun = await post('web', { secrets: [entry({ values: { password: VALUE } })] }, '?dryRun=true');
      expect(dryRun.status).to.equal(200);
      expect(dryRun.text).not.to.contain(VALUE);
      expect(dryRun.body['secrets']).to.deep.equal([
        { path: PATH, resolves: true, reason: 'written', keys: ['password'], missing: [] },
      ]);
      expect(await lab.store.revision()).to.equal(before);
    });
  });

  /** A record that another program put into the store: our own encoder never writes a name so. */
  const poisoned = async (part: 'values' | 'generate', material: unknown) => {
    await post('web', { secrets: [entry()] });
    const key = keys.deployment(lab.a, 'web');
    const stored = await lab.store.get(key);
    const record = JSON.parse(stored!.bytes.toString()) as { secrets: object[] };
    const text = JSON.stringify({ ...record, secrets: [{ ...record.secrets[0], [part]: material }] });
    const bytes = Buffer.from(text.replace(`"${part}":`, `"\\u00${part.charCodeAt(0).toString(16)}${part.slice(1)}":`));
    const verdict = await lab.store.commit({
      guards: [{ key, at: stored!.revision }],
      puts: [{ key, bytes }],
      deletes: [],
    });
    if (verdict.stored) await lab.cache.reached(verdict.revision);
  };
  const guarded: readonly [part: 'values' | 'generate', material: unknown, code: string][] = [
    ['values', { password: VALUE }, 'secret_material_would_persist'], // [7.3.21]
    ['values', {}, 'secret_material_would_persist'],
    ['generate', { keys: ['password'] }, 'secret_generate_would_persist'], // [7.3.18]
    ['generate', {}, 'secret_generate_would_persist'],
  ];
  for (const [part, material, code] of guarded) {
    it(`are kept out of the store by its last gate: ${code}, ${encode(material).toString()}`, async () => {
      await poisoned(part, material);
      const before = await lab.store.revision();
      const refused = await lab.ask('DELETE', '/api/v1/deployments/web', { token });
      expect([refused.status, refused.body['code']]).to.deep.equal([422, code]);
      expect(refused.body['field']).to.equal(`secrets[0].${part}`);
      expect(refused.text).not.to.contain(VALUE);
      expect(await lab.store.revision()).to.equal(before);
    });
  }

  const failures: readonly [string, Error, string][] = [
    ['is away', new SecretStoreUnavailableFault('away'), 'secret_store_unavailable'],
    ['cannot open them', new UnreadableSecretFault('altered'), 'secret_unreadable'],
  ];
  for (const [what, fault, code] of failures) {
    it(`are refused while their store ${what}, with nothing stored: ${code}`, async () => {
      const fail = () => Promise.reject(fault);
      const methods = ['read', 'state', 'write', 'promote', 'destroy', 'delete', 'close'];
      const secrets = Object.fromEntries(methods.map(method => [method, fail])) as unknown as SecretStore;
      const other = await new ApiLab({ secrets }).start();
      const own = await other.tenantToken(other.a);
      const before = await other.store.revision();
      const requests: readonly [string, string, unknown][] = [
        ['PUT', `/api/v1/secrets/${PATH}`, { values: { a: 'b' } }],
        ['DELETE', `/api/v1/secrets/${PATH}`, undefined],
        ['POST', '/api/v1/deployments', webDeployment('web', { secrets: [entry()] })],
      ];
      for (const [method, path, body] of requests) {
        const refused = await other.ask(method, path, { token: own, ...(body !== undefined && { body }) });
        expect([refused.status, refused.body['code']]).to.deep.equal([503, code]);
        expect(refused.headers.get('retry-after')).to.equal('1');
      }
      expect(await other.store.revision()).to.equal(before);
      await other.stop();
    });
  }

  it('do not prevent scaling a deployment while the secrets store is unavailable', async () => {
    await post('web', { secrets: [entry()] });
    const away = () => Promise.reject<never>(new SecretStoreUnavailableFault('away'));
    Object.assign(lab.secrets, { read: away, state: away });
    const scaled = await lab.ask('PUT', '/api/v1/deployments/web', { token, body: { replicas: 5 } });
    const set = await lab.ask('PUT', '/api/v1/deployments/web', { token, body: { environment: { A: 'b' } } });

    expect([scaled.status, scaled.body['replicas']]).to.deep.equal([200, 5]);
    expect([set.status, set.body['code']]).to.deep.equal([503, 'secret_store_unavailable']);
  });
});
