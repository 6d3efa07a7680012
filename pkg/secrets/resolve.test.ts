import { expect } from 'chai';

import { seededRandom, systemClock } from '../clock/index.js';
import { MemoryStore } from '../store/index.js';
import { toCredentialPath } from './credential-path.js';
import { toSecretDocument } from './document.js';
import { EmbeddedSecretStore } from './embedded/embedded-secret-store.js';
import { SecretKeyring } from './embedded/secret-keyring.js';
import {
  SecretStoreLoginFault,
  SecretStoreSealedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from './faults.js';
import { readEnvironment, collectReferences, resolveSecrets } from './resolve.js';
import type { SecretStore } from './secret-store.js';

const tenant = 'a2d1b2a0-0000-4000-8000-000000000001';
const web = toCredentialPath(tenant, 'deployments/web-db');
const workload = {
  secrets: [
    { name: 'DB', vault_path: 'deployments/web-db' },
    { name: 'SMTP', vault_path: 'resources/mail' },
  ],
  composedSecrets: { DATABASE_URL: 'pg://{{secret.web-db.user}}:{{secret.web-db.password}}@db' },
  environment: { MODE: 'production' },
};
const references = collectReferences(tenant, workload);
const noAudit = async () => undefined;

describe('resolving secrets', () => {
  let store: EmbeddedSecretStore;
  const put = (path: string, after: number, values: Record<string, string>, as: 'current' | 'pending' = 'current') =>
    store.write(toCredentialPath(tenant, path), { document: toSecretDocument(values), after, as });

  beforeEach(async () => {
    const random = seededRandom(1);
    store = new EmbeddedSecretStore({
      store: new MemoryStore({ clock: systemClock }),
      keyring: new SecretKeyring([random.bytes(32)]),
      random,
      granted: ['deployments', 'resources'],
    });
    await put('deployments/web-db', 0, { user: 'app', password: 'one' });
    await put('resources/mail', 0, { token: 'mail' });
  });

  it('returns the versions only', async () => {
    expect(await resolveSecrets(store, references)).to.deep.equal({
      kind: 'resolved',
      versions: { 'deployments/web-db': 1, 'resources/mail': 1 },
    });
  });

  it('reads nothing without references', async () => {
    expect(await resolveSecrets(store, collectReferences(tenant, {}))).to.deep.equal({
      kind: 'resolved',
      versions: {},
    });
  });

  it('delivers the stamped versions, also after the current one has changed', async () => {
    await put('deployments/web-db', 1, { user: 'app', password: 'two' });
    const delivery = await readEnvironment(store, references, {
      versions: { 'deployments/web-db': 1 },
      audit: noAudit,
    });
    if (delivery.kind !== 'ready') throw new Error(delivery.kind);
    const environment = Object.fromEntries([...delivery.environment].map(([name, secret]) => [name, secret.reveal()]));
    expect(environment).to.deep.equal({
      DB_user: 'app',
      DB_password: 'one',
      SMTP_token: 'mail',
      DATABASE_URL: 'pg://app:one@db',
    });
    expect(delivery.versions).to.deep.equal({ 'deployments/web-db': 1, 'resources/mail': 1 });
  });

  it('keeps to the current version while another is pending', async () => {
    await put('deployments/web-db', 1, { user: 'app', password: 'two' }, 'pending');
    expect(await resolveSecrets(store, references)).to.have.nested.property('versions.deployments/web-db', 1);
    await store.promote(web, 2);
    expect(await resolveSecrets(store, references)).to.have.nested.property('versions.deployments/web-db', 2);
  });

  it('[2.4.10] lists all forbidden paths', async () => {
    const secrets = [
      ...workload.secrets,
      { name: 'X', vault_path: 'platform/root' },
      { name: 'Y', vault_path: 'etc/x' },
    ];
    expect(await resolveSecrets(store, collectReferences(tenant, { ...workload, secrets }))).to.deep.equal({
      kind: 'forbidden',
      paths: ['platform/root', 'etc/x'],
    });
  });

  it('lists missing documents, versions and keys', async () => {
    await store.delete(toCredentialPath(tenant, 'resources/mail'));
    expect(await resolveSecrets(store, references)).to.deep.equal({
      kind: 'missing',
      missing: [{ path: 'resources/mail' }],
    });
    await put('resources/mail', 0, { token: 'mail' });
    expect(await resolveSecrets(store, references, { 'resources/mail': 7 })).to.have.property('kind', 'missing');
    await put('deployments/web-db', 1, { user: 'app' });
    expect(await resolveSecrets(store, references)).to.deep.equal({
      kind: 'missing',
      missing: [{ path: 'deployments/web-db', key: 'password' }],
    });
  });

  it('[2.4.4 5.5] does not read the credentials of another tenant', async () => {
    const other = collectReferences('a2d1b2a0-0000-4000-8000-000000000002', workload);
    expect(await resolveSecrets(store, other)).to.have.property('kind', 'missing');
  });

  it('lists variables that cannot be delivered', async () => {
    const clash = collectReferences(tenant, { ...workload, environment: { DB_user: 'x' } });
    expect(await resolveSecrets(store, clash)).to.deep.equal({
      kind: 'undeliverable',
      collisions: ['DB_user'],
      unusable: [],
    });
  });

  const faulty = (fault: Error) => ({ read: () => Promise.reject(fault) }) as unknown as SecretStore;
  const faults: readonly [string, Error, object][] = [
    ['unreachable', new SecretStoreUnavailableFault('x'), { kind: 'unavailable', because: 'unreachable' }],
    ['sealed', new SecretStoreSealedFault('x'), { kind: 'unavailable', because: 'sealed' }],
    ['locked to us', new SecretStoreLoginFault('x'), { kind: 'unavailable', because: 'login' }],
    [
      'unreadable',
      new UnreadableSecretFault('x'),
      { kind: 'unreadable', paths: ['deployments/web-db', 'resources/mail'] },
    ],
  ];
  for (const [name, fault, expected] of faults) {
    it(`reports that the store is ${name}`, async () => {
      expect(await resolveSecrets(faulty(fault), references)).to.deep.equal(expected);
      expect(await readEnvironment(faulty(fault), references, { versions: {}, audit: noAudit })).to.deep.equal(
        expected,
      );
    });
  }

  it('[3.14] delivers nothing when the audit record cannot be written', async () => {
    const audit = () => Promise.reject(new Error('disk full'));
    const outcome = await readEnvironment(store, references, { versions: {}, audit }).catch(
      (thrown: unknown) => thrown,
    );
    expect(outcome).to.be.instanceOf(Error);
  });

  it('records the versions and no value', async () => {
    const lines: string[] = [];
    const audit = async (versions: object) => void lines.push(JSON.stringify(versions));
    await readEnvironment(store, references, { versions: {}, audit });
    expect(lines).to.deep.equal(['{"deployments/web-db":1,"resources/mail":1}']);
  });
});
