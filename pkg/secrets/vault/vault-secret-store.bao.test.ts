import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';

import { expect } from 'chai';
import { request } from 'undici';

import { sleep, systemClock, systemRandom } from '../../clock/index.js';
import { freePort } from '../../processes/index.js';
import { credentialPath } from '../credential-path.js';
import { documentOf } from '../document.js';
import { SecretStoreLoginFault, SecretStoreSealedFault } from '../faults.js';
import { Secret } from '../secret.js';
import { secretStoreContract } from '../secret-store.contract.js';
import { VaultSecretStore } from './vault-secret-store.js';

/** A `bao` or `vault` program: named by the environment, or put into the cache of this repository. */
const program = [process.env['MOORING_BAO'], '.cache/bao'].find(path => path !== undefined && existsSync(path));

const tenant = systemRandom.uuid();
const otherTenant = systemRandom.uuid();
const root = `root-${systemRandom.uuid()}`;
const policy = ['deployments', 'resources']
  .flatMap(namespace => [
    `path "mooring/+/data/${namespace}/*" { capabilities = ["create", "read", "update"] }`,
    `path "mooring/+/metadata/${namespace}/*" { capabilities = ["create", "read", "update", "delete"] }`,
    `path "mooring/+/destroy/${namespace}/*" { capabilities = ["update"] }`,
  ])
  .join('\n');

describe('vault secret store on a real server', function () {
  if (program === undefined) {
    it('skipped: no OpenBao or Vault program in MOORING_BAO or .cache/bao');
    return;
  }
  this.timeout(60_000);
  let server: ChildProcess;
  let address: string;
  let store: VaultSecretStore | undefined;
  let role: { roleId: Secret; secretId: Secret };

  /** What an operator does once, as root. */
  const operate = async (path: string, body?: object): Promise<{ data?: Record<string, string> }> => {
    const answer = await request(`${address}/v1/${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'x-vault-token': root },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${path} answered ${answer.statusCode}: ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as { data?: Record<string, string> };
  };
  const eventually = async (work: () => Promise<unknown>) => {
    const deadline = systemClock.monotonic() + 20_000;
    for (;;) {
      try {
        return await work();
      } catch (thrown) {
        if (systemClock.monotonic() > deadline) throw thrown;
        await sleep(systemClock, 100);
      }
    }
  };
  const open = () => {
    const { roleId, secretId } = role;
    const login = { kind: 'approle', roleId: () => roleId, secretId: () => secretId } as const;
    return new VaultSecretStore({ address, mount: 'mooring/{tenant}', login, clock: systemClock });
  };

  before(async () => {
    const port = await freePort();
    address = `http://127.0.0.1:${port}`;
    const argv = ['server', '-dev', `-dev-root-token-id=${root}`, `-dev-listen-address=127.0.0.1:${port}`];
    server = spawn(program, argv, { stdio: ['pipe', 'ignore', 'ignore'] });
    await eventually(() => operate('sys/health'));
    await operate('sys/policies/acl/mooring', { policy });
    await operate('sys/auth/approle', { type: 'approle' });
    await operate('auth/approle/role/mooring', { token_policies: 'mooring', token_ttl: '20m' });
    for (const each of [tenant, otherTenant]) {
      await operate(`sys/mounts/mooring/${each}`, { type: 'kv', options: { version: '2' } });
      await eventually(() => operate(`mooring/${each}/config`));
    }
    const { data } = await operate('auth/approle/role/mooring/role-id');
    const drawn = await operate('auth/approle/role/mooring/secret-id', {});
    role = { roleId: new Secret(data!['role_id']!), secretId: new Secret(drawn.data!['secret_id']!) };
    store = open();
  });

  after(async () => {
    await store?.close();
    if (server.exitCode === null && server.kill('SIGKILL')) await once(server, 'exit');
  });

  secretStoreContract('vault secret store on a real server', () => ({
    store: store!,
    tenant,
    otherTenant,
    forbidden: credentialPath(tenant, 'platform/root'),
  }));

  // In a group of its own, for it runs after the contract: the last test seals the server.
  describe('operated', () => {
    it('does not reach a tenant without a mount', async () => {
      const nobody = credentialPath(systemRandom.uuid(), 'deployments/web');
      expect((await store!.read(nobody)).kind).to.be.oneOf(['forbidden', 'missing']);
    });

    it('logs in again when its token was revoked', async () => {
      const path = credentialPath(tenant, 'deployments/revoked');
      await store!.write(path, { document: documentOf({ a: '1' }), after: 0, as: 'current' });
      await operate('sys/leases/revoke-prefix/auth/approle/login', {});
      expect(await store!.read(path)).to.have.property('kind', 'found');
    });

    it('says that its role is refused', async () => {
      const wrong = { kind: 'approle', roleId: () => new Secret('wrong'), secretId: () => role.secretId } as const;
      const refused = new VaultSecretStore({ address, mount: 'mooring/{tenant}', login: wrong, clock: systemClock });
      const thrown: unknown = await refused
        .read(credentialPath(tenant, 'deployments/x'))
        .catch((fault: unknown) => fault);
      expect(thrown).to.be.instanceOf(SecretStoreLoginFault);
      await refused.close();
    });

    it('says that the server is sealed', async () => {
      await operate('sys/seal', {});
      const thrown: unknown = await store!
        .read(credentialPath(tenant, 'deployments/x'))
        .catch((fault: unknown) => fault);
      expect(thrown).to.be.instanceOf(SecretStoreSealedFault);
    });
  });
});
