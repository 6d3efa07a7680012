import { inspect } from 'node:util';

import { expect } from 'chai';

import { systemClock } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { BrokenInvariantFault } from '../../fault/index.js';
import { toCredentialPath } from '../credential-path.js';
import { toSecretDocument, revealDocument } from '../document.js';
import {
  SecretOutcomeUnknownFault,
  SecretStoreLoginFault,
  SecretStoreSealedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from '../faults.js';
import { Secret } from '../secret.js';
import { destroyVersion } from '../destroy-version.testing.js';
import { secretStoreContract } from '../secret-store.contract.js';
import { FakeVault, type InjectedFault } from './fake-vault.testing.js';
import { VaultSecretStore, type VaultSecretStoreOptions } from './vault-secret-store.js';
import type { VaultLogin } from './vault-session.js';

const tenant = 'a2d1b2a0-0000-4000-8000-000000000001';
const otherTenant = 'a2d1b2a0-0000-4000-8000-000000000002';
const web = toCredentialPath(tenant, 'deployments/web');
const approle: VaultLogin = {
  kind: 'approle',
  roleId: () => new Secret('role'),
  secretId: () => new Secret('secret-id'),
};
/** Longer than any test takes: only a clock that a test moves lets a call time out. */
const TIMEOUT_MS = 10 * 86_400_000;
const fails = async (work: Promise<unknown>) => work.catch((thrown: unknown) => thrown);

describe('vault secret store', () => {
  let vault: FakeVault;
  let store: VaultSecretStore;
  let clock: ManualClock;
  const opened: VaultSecretStore[] = [];
  const open = (options: Partial<VaultSecretStoreOptions> = {}) => {
    const login: VaultLogin = { kind: 'token', token: () => new Secret('root') };
    const address = options.address ?? vault.address;
    const defaults = { mount: 'mooring/{tenant}', login, clock: systemClock, timeoutMs: TIMEOUT_MS };
    opened.push(new VaultSecretStore({ ...defaults, ...options, address }));
    return opened.at(-1)!;
  };
  const put = (password = 'hunter2', after = 0, as: 'current' | 'pending' = 'current') =>
    store.write(web, { document: toSecretDocument({ password }), after, as });
  const destroy = (version: number) => destroyVersion(store, web, version);
  /** Lets the mishap happen to the first request that it picks. */
  const once = (mishap: InjectedFault) => {
    vault.mishap = request => {
      const what = mishap(request);
      if (what !== undefined) vault.mishap = () => undefined;
      return what;
    };
  };

  beforeEach(async () => {
    vault = await FakeVault.start();
    clock = new ManualClock();
    store = open();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(each => each.close()));
    await vault.stop();
  });

  secretStoreContract('vault secret store', () => ({
    store,
    tenant,
    otherTenant,
    forbidden: toCredentialPath(tenant, 'platform/root'),
  }));

  it('[2.4.4 5.5] sends every request to the mount of the tenant', async () => {
    await put();
    await store.read(web);
    const paths = vault.seen.map(({ path }) => path).filter(path => !path.startsWith('auth/'));
    expect(paths.every(path => path.startsWith(`mooring/${tenant}/`))).to.equal(true);
  });

  it('sends the Vault namespace of the tenant', async () => {
    store = open({ mount: 'mooring/x', namespace: 'teams/{tenant}', loginNamespace: 'platform' });
    await store.read(web);
    expect(vault.seen.at(-1)?.namespace).to.equal(`teams/${tenant}`);
    expect(vault.seen[0]?.namespace).to.equal('platform');
  });

  it('refuses a mount that tenants would share', () => {
    expect(() => open({ mount: 'secret' })).to.throw(BrokenInvariantFault);
  });

  it('preserves custom metadata of other tools', async () => {
    await put();
    vault.kv.metadata('POST', `${tenant}/deployments/web`, { custom_metadata: { owner: 'team-a' } });
    await put('staged', 1, 'pending');
    await store.promote(web, 2);
    const { body } = vault.kv.metadata('GET', `${tenant}/deployments/web`, undefined);
    expect(body).to.have.deep.nested.property('data.custom_metadata', { owner: 'team-a' });
  });

  it('reads numbers and booleans as text, and refuses nested values', async () => {
    const write = (data: object, cas: number) =>
      vault.kv.data('POST', `${tenant}/deployments/web`, 0, { options: { cas }, data });
    write({ port: 5432, tls: true }, 0);
    const reading = await store.read(web);
    expect(reading.kind === 'found' && revealDocument(reading.document)).to.deep.equal({ port: '5432', tls: 'true' });
    write({ nested: { a: 1 } }, 1);
    expect(await fails(store.read(web))).to.be.instanceOf(UnreadableSecretFault);
  });

  it('makes the highest remaining version current after a soft delete', async () => {
    await put('one');
    await put('two', 1);
    vault.kv.softDelete(`${tenant}/deployments/web`, 2);
    expect(await store.read(web)).to.include({ kind: 'found', version: 1 });
  });

  describe('faults', () => {
    it('report a sealed server, and end when it is unsealed', async () => {
      await put();
      vault.sealed = true;
      for (const work of [store.read(web), store.state(web), put('x', 1), destroy(1), store.delete(web)]) {
        expect(await fails(work)).to.be.instanceOf(SecretStoreSealedFault);
      }
      vault.sealed = false;
      expect(await store.read(web)).to.have.property('kind', 'found');
    });

    /** No response: the call has timed out once the server has its request. */
    const hang: InjectedFault = () => {
      void clock.pass(TIMEOUT_MS);
      return 'hang';
    };
    const mishaps: readonly [string, InjectedFault][] = [
      ['an error', () => ({ status: 500, body: { errors: ['internal'] } })],
      [
        'a 503 of a server that changes its leader',
        ({ path }) => (path.startsWith('sys/') ? undefined : { status: 503 }),
      ],
      ['a redirect', () => ({ status: 307 })],
      ['garbage', () => 'garbage'],
      ['JSON of another kind', () => ({ status: 200, body: { hello: 'world' } })],
      ['an empty list', () => ({ status: 200, body: [] })],
      ['nothing in time', hang],
      ['a broken connection', () => 'lose'],
    ];
    for (const [name, mishap] of mishaps) {
      it(`report a read as unavailable when the server responds with ${name}`, async () => {
        store = open({ clock });
        await put();
        vault.mishap = request => (request.path.startsWith('auth/') ? undefined : mishap(request));
        expect(await fails(store.read(web))).to.be.instanceOf(SecretStoreUnavailableFault);
        expect(await fails(store.state(web))).to.be.instanceOf(SecretStoreUnavailableFault);
        vault.mishap = () => undefined;
        expect(await store.read(web)).to.have.property('kind', 'found');
      });
    }

    it('never contain a value or a token', async () => {
      const canary = 'canary-51b7d0';
      for (const [, mishap] of mishaps) {
        for (const part of ['/data/', '/metadata/', 'auth/']) {
          vault.mishap = request => (request.path.includes(part) ? mishap(request) : undefined);
          vault.tokens.add(canary);
          store = open({ clock, login: { kind: 'token', token: () => new Secret(canary) } });
          for (const as of ['current', 'pending'] as const) {
            const outcome = await fails(put(canary, 0, as));
            expect(inspect(outcome, { depth: 12, showHidden: true })).not.to.include(canary);
          }
          await opened.pop()!.close(); // else it renews its token in the ten days that each later case lets pass
        }
      }
    });

    it('report an unknown outcome for a write that the server answered with an error', async () => {
      await put();
      vault.mishap = ({ method }) => (method === 'POST' ? { status: 500 } : undefined);
      expect(await fails(put('next', 1))).to.be.instanceOf(SecretOutcomeUnknownFault);
      expect(await fails(destroy(1))).to.be.instanceOf(SecretOutcomeUnknownFault);
    });

    it('report that nothing was changed when the connection fails or the server responds 429', async () => {
      const { address } = vault;
      vault.mishap = ({ method }) => (method === 'POST' ? { status: 429 } : undefined);
      expect(await fails(put())).to.be.instanceOf(SecretStoreUnavailableFault);
      await vault.stop();
      store = open({ address });
      expect(await fails(put())).to.be.instanceOf(SecretStoreUnavailableFault);
      vault = await FakeVault.start();
    });

    it('do not hide a write that was stored although its response was lost', async () => {
      once(({ method }) => (method === 'POST' ? 'lose' : undefined));
      expect(await put()).to.deep.equal({ kind: 'written', version: 1 });
      expect(await store.state(web)).to.have.deep.property('state', { last: 1, current: 1 });
    });

    it('report an unknown outcome for a write without a response, and the same write may be repeated', async () => {
      store = open({ clock });
      once(request => (request.method === 'POST' ? hang(request) : undefined));
      expect(await fails(put())).to.be.instanceOf(SecretOutcomeUnknownFault);
      expect(await put()).to.deep.equal({ kind: 'written', version: 1 });
    });

    it('never make a staged version current, whichever request fails', async () => {
      await put('old');
      for (const part of ['metadata', 'data']) {
        for (const mishap of [() => 'lose' as const, hang]) {
          store = open({ clock });
          once(request =>
            request.method === 'POST' && request.path.includes(`/${part}/`) ? mishap(request) : undefined,
          );
          await fails(put('new', 1, 'pending'));
          expect(await store.read(web)).to.include({ kind: 'found', version: 1 });
        }
      }
      expect(await put('new', 1, 'pending')).to.deep.equal({ kind: 'written', version: 2 });
      expect(await store.state(web)).to.have.deep.property('state', { last: 2, current: 1, pending: 2 });
    });
  });

  describe('login', () => {
    it('with an AppRole happens once for concurrent calls', async () => {
      store = open({ login: approle });
      await Promise.all(Array.from({ length: 10 }, () => store.read(web)));
      expect(vault.logins).to.equal(1);
    });

    it('with an AppRole is repeated when its token was revoked', async () => {
      store = open({ login: approle });
      await put();
      vault.tokens.delete('login-1');
      expect(await store.read(web)).to.have.property('kind', 'found');
      expect(vault.logins).to.equal(2);
    });

    it('is not repeated for a forbidden path', async () => {
      store = open({ login: approle });
      expect(await store.read(toCredentialPath(tenant, 'platform/root'))).to.deep.equal({ kind: 'forbidden' });
      expect(vault.logins).to.equal(1);
    });

    it('throws SecretStoreLoginFault when it is refused', async () => {
      store = open({ login: { ...approle, secretId: () => new Secret('wrong') } });
      expect(await fails(store.read(web))).to.be.instanceOf(SecretStoreLoginFault);
    });

    it('with a revoked token throws until the file holds a valid one', async () => {
      let text = 'dead';
      store = open({ login: { kind: 'token', token: () => new Secret(text) } });
      expect(await fails(store.read(web))).to.be.instanceOf(SecretStoreLoginFault);
      text = 'root';
      expect(await store.read(web)).to.have.property('kind', 'missing');
    });

    /** Does a step again and again until it has led somewhere. */
    const until = async (done: () => boolean, step: () => Promise<unknown>) => {
      const deadline = systemClock.monotonic() + 60_000;
      while (!done() && systemClock.monotonic() < deadline) await step();
      expect(done()).to.equal(true);
    };

    it('is renewed before its token expires', async () => {
      store = open({ login: approle, clock });
      await store.read(web);
      await clock.pass(2_399_000);
      expect(vault.renewals).to.equal(0);
      await until(
        () => vault.renewals === 3,
        () => clock.pass(100_000),
      );
      expect(vault.logins).to.equal(1);
    });

    it('is repeated when its token cannot be renewed', async () => {
      store = open({ login: approle, clock });
      await store.read(web);
      once(({ path }) => (path.endsWith('renew-self') ? { status: 403, body: {} } : undefined));
      await clock.pass(2_401_000);
      await until(
        () => vault.logins === 2,
        () => store.read(web),
      );
    });
  });
});
