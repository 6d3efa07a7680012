import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';
import sinon from 'sinon';

import { systemRandom } from '../../clock/index.js';
import { EtcdProcess, TcpProxy } from '../../../dev/processes/index.js';
import { until } from '../../../dev/testing/index.js';
import { EtcdStore, type Store } from '../../store/index.js';
import { toCredentialPath } from '../credential-path.js';
import { toSecretDocument } from '../document.js';
import { SecretStoreUnavailableFault } from '../faults.js';
import { collectReferences, resolveSecrets } from '../resolve.js';
import { secretStoreContract } from '../secret-store.contract.js';
import { EmbeddedSecretStore } from './embedded-secret-store.js';
import { SecretKeyring } from './secret-keyring.js';

const tenant = 'a2d1b2a0-0000-4000-8000-000000000001';
const otherTenant = 'a2d1b2a0-0000-4000-8000-000000000002';

describe('embedded secret store on etcd', () => {
  const keyring = new SecretKeyring([systemRandom.bytes(32)]);
  const granted = ['deployments', 'resources'];
  const storeAt = (endpoint: string) => new EtcdStore({ endpoints: [endpoint], prefix: '/test/' });
  const secretsIn = (kept: Store) => new EmbeddedSecretStore({ store: kept, keyring, random: systemRandom, granted });
  let folder: string;
  let etcd: EtcdProcess;
  let proxy: TcpProxy;
  let store: EtcdStore;
  let secrets: EmbeddedSecretStore;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-secrets-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    proxy = await TcpProxy.start(etcd.port);
    store = storeAt(etcd.endpoint);
    secrets = secretsIn(store);
  });

  after(async () => {
    await store.close();
    await proxy.stop();
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  secretStoreContract('embedded secret store on etcd', () => ({
    store: secrets,
    tenant,
    otherTenant,
    forbidden: toCredentialPath(tenant, 'platform/root'),
  }));

  it('stores the largest allowed document', async () => {
    const path = toCredentialPath(tenant, 'deployments/large');
    const values = Object.fromEntries(Array.from({ length: 4 }, (_, n) => [`k${n}`, '\u0001'.repeat(65_500)]));
    expect(await secrets.write(path, { document: toSecretDocument(values), after: 0, as: 'current' })).to.have.property(
      'kind',
      'written',
    );
    expect(await secrets.read(path)).to.have.property('kind', 'found');
  });

  it('leaves no value in any byte of the data of etcd', async () => {
    const canary = `canary${systemRandom.bytes(16).toString('hex')}`;
    const path = toCredentialPath(tenant, 'deployments/canary');
    await secrets.write(path, { document: toSecretDocument({ value: canary }), after: 0, as: 'current' });

    const files = readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true }).filter(file =>
      file.isFile(),
    );
    const bytes = Buffer.concat(files.map(file => readFileSync(join(file.parentPath, file.name))));
    expect(bytes.includes('deployments/canary'), 'the scan looks at the right place').to.equal(true);
    for (let shift = 0; shift < 3; shift++) {
      const encoded = Buffer.from('x'.repeat(shift) + canary).toString('base64');
      expect(bytes.includes(encoded.slice(4, -4))).to.equal(false);
    }
    for (const form of [canary, Buffer.from(canary).toString('hex')]) expect(bytes.includes(form)).to.equal(false);
  });

  it('serves a hundred concurrent resolutions, each with one read per record', async () => {
    const labels = Array.from({ length: 20 }, (_, n) => `paced-${n}`);
    for (const label of labels) {
      const document = toSecretDocument({ user: 'app', password: 'x'.repeat(64) });
      await secrets.write(toCredentialPath(tenant, `deployments/${label}`), { document, after: 0, as: 'current' });
    }
    const get = sinon.spy(store, 'get');
    const resolutions = await Promise.all(
      Array.from({ length: 100 }, (_, n) => {
        const label = labels[n % labels.length]!;
        const references = collectReferences(tenant, {
          secrets: [{ name: 'DB', vault_path: `deployments/${label}` }],
          composedSecrets: { URL: `pg://{{secret.${label}.user}}:{{secret.${label}.password}}@db` },
        });
        return resolveSecrets(secrets, references);
      }),
    );
    get.restore();
    expect(resolutions.every(({ kind }) => kind === 'resolved')).to.equal(true);
    expect(get.callCount).to.equal(2 * resolutions.length);
  });

  it('is unavailable while etcd is unreachable, and recovers', async () => {
    const path = toCredentialPath(tenant, 'deployments/outage');
    await secrets.write(path, { document: toSecretDocument({ a: '1' }), after: 0, as: 'current' });

    const proxied = storeAt(proxy.endpoint);
    const reading = () => secretsIn(proxied).read(path);
    try {
      proxy.mode = 'refuse';
      expect(await reading().catch((thrown: unknown) => thrown)).to.be.instanceOf(SecretStoreUnavailableFault);
      proxy.mode = 'pass';
      await until('the document to be read again', async () => (await reading()).kind === 'found');
    } finally {
      await proxied.close();
    }
  });
});
