import { expect } from 'chai';

import { REGISTRIES, toRegistryLabel } from '../../crds/grammar/index.js';
import { seededRandom, systemClock } from '../clock/index.js';
import { MemoryStore } from '../store/index.js';
import { toCredentialPath } from './credential-path.js';
import { toSecretDocument } from './document.js';
import { EmbeddedSecretStore } from './embedded/embedded-secret-store.js';
import { SecretKeyring } from './embedded/secret-keyring.js';
import { SecretStoreUnavailableFault } from './faults.js';
import { createRegistryCredentials } from './registry-credentials.js';

const tenant = 'a2d1b2a0-0000-4000-8000-000000000001';
const other = 'a2d1b2a0-0000-4000-8000-000000000002';
const signal = new AbortController().signal;

describe('credentials for registries', () => {
  const open = (granted: readonly string[]) => {
    const random = seededRandom(1);
    const keyring = new SecretKeyring([random.bytes(32)]);
    return new EmbeddedSecretStore({ store: new MemoryStore({ clock: systemClock }), keyring, random, granted });
  };
  const stored = async (values: Record<string, string>, host: string) => {
    const store = open([REGISTRIES]);
    const path = toCredentialPath(tenant, `${REGISTRIES}/${toRegistryLabel(host)}`);
    await store.write(path, { document: toSecretDocument(values), after: 0, as: 'current' });
    return createRegistryCredentials(store);
  };
  const sound = { host: 'Registry.example.com:5000', username: 'robot', password: 'sesame' };

  it('are found by tenant and host', async () => {
    const credentials = await stored(sound, 'registry.example.com:5000');
    expect(await credentials.credentialsFor(tenant, 'registry.example.com:5000', signal)).to.deep.equal({
      kind: 'found',
      credential: { username: 'robot', password: 'sesame' },
      version: 1,
    });
  });

  const misses: ReadonlyArray<readonly [name: string, values: Record<string, string>, tenant: string, host: string]> = [
    ['of another tenant', sound, other, 'registry.example.com:5000'],
    ['of another host', sound, tenant, 'registry.example.com'],
    ['of a host with the same label', sound, tenant, 'registry-example.com:5000'],
    ['that name no host', { username: 'robot', password: 'sesame' }, tenant, 'registry.example.com:5000'],
    ['without a password', { host: sound.host, username: 'robot' }, tenant, 'registry.example.com:5000'],
    ['without a name', { host: sound.host, password: 'sesame' }, tenant, 'registry.example.com:5000'],
    ['of a host that no label can hold', sound, tenant, `${'a'.repeat(63)}.example`],
  ];
  for (const [name, values, asking, host] of misses) {
    it(`are not those ${name}`, async () => {
      const credentials = await stored(values, 'registry.example.com:5000');
      expect(await credentials.credentialsFor(asking, host, signal)).to.deep.equal({ kind: 'none' });
    });
  }

  it('are absent at a forbidden path', async () => {
    const credentials = createRegistryCredentials(open(['deployments']));
    expect(await credentials.credentialsFor(tenant, 'registry.example.com', signal)).to.deep.equal({ kind: 'none' });
  });

  it('throw instead of being reported missing when the store is unavailable', async () => {
    const store = open([REGISTRIES]);
    store.read = () => Promise.reject(new SecretStoreUnavailableFault('down'));
    const asked = createRegistryCredentials(store).credentialsFor(tenant, 'registry.example.com', signal);
    const thrown = await asked.catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(SecretStoreUnavailableFault);
  });

  const labels = [
    ['registry.example.com', 'registry-example-com'],
    ['127.0.0.1:7071', '127-0-0-1-7071'],
    ['[::1]:5000', '1-5000'],
  ] as const;
  for (const [host, label] of labels) {
    it(`for ${host} are stored at ${label}`, () => {
      expect(toRegistryLabel(host)).to.equal(label);
    });
  }
});
