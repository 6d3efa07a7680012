import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import { seededRandom, systemClock } from '../../clock/index.js';
import {
  type Change,
  encode,
  MemoryStore,
  OutcomeUnknownFault,
  replace,
  type Store,
  StoreUnavailableFault,
  value,
} from '../../store/index.js';
import { toCredentialPath } from '../credential-path.js';
import { toSecretDocument } from '../document.js';
import {
  SecretDocumentFault,
  SecretOutcomeUnknownFault,
  SecretPreconditionFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from '../faults.js';
import { destroyVersion } from '../destroy-version.testing.js';
import { secretStoreContract } from '../secret-store.contract.js';
import { EmbeddedSecretStore } from './embedded-secret-store.js';
import { SecretKeyring } from './secret-keyring.js';

const tenant = 'a2d1b2a0-0000-4000-8000-000000000001';
const otherTenant = 'a2d1b2a0-0000-4000-8000-000000000002';
const web = toCredentialPath(tenant, 'deployments/web');
const random = seededRandom(1);
const keyring = new SecretKeyring([random.bytes(32)]);
const embedded = (store: Store, options: { keyring?: SecretKeyring; keepVersions?: number } = {}) =>
  new EmbeddedSecretStore({ store, keyring, random, granted: ['deployments', 'resources'], ...options });

const fails = async (work: Promise<unknown>) => {
  try {
    return await work;
  } catch (thrown) {
    return thrown;
  }
};

describe('embedded secret store', () => {
  let store: MemoryStore;
  let secrets: EmbeddedSecretStore;
  beforeEach(() => {
    store = new MemoryStore({ clock: systemClock });
    secrets = embedded(store);
  });
  const put = (path = web, after = 0, password = 'hunter2') =>
    secrets.write(path, { document: toSecretDocument({ password }), after, as: 'current' });
  const destroy = (version: number) => destroyVersion(secrets, web, version);

  secretStoreContract('embedded secret store', () => ({
    store: secrets,
    tenant,
    otherTenant,
    forbidden: toCredentialPath(tenant, 'platform/root'),
  }));

  it('stores neither a value nor the name of a key', async () => {
    await put();
    const { entries } = await store.list('');
    expect(entries).to.have.length(3);
    const all = entries.map(({ bytes }) => bytes.toString()).join('\n');
    for (const form of ['hunter2', Buffer.from('hunter2').toString('base64'), 'password'])
      expect(all).not.to.include(form);
  });

  it('seals the same document differently each time', async () => {
    await put();
    await put(web, 1);
    const boxes = (await store.list('secret-versions/')).entries.map(entry => value<{ box: string }>(entry).box);
    expect(new Set(boxes).size).to.equal(2);
  });

  describe('detects', () => {
    const version = (path = web, number = 1) => keys.secretVersion(path.tenant, path.namespace, path.label, number);
    const swap = async (from: string, to: string) => {
      const [source, target] = [await store.get(from), await store.get(to)];
      await replace(store, target!, value(source!));
    };
    const others = [
      ['another tenant', toCredentialPath(otherTenant, 'deployments/web')],
      ['another namespace', toCredentialPath(tenant, 'resources/web')],
      ['another label', toCredentialPath(tenant, 'deployments/api')],
    ] as const;
    for (const [name, other] of others) {
      it(`a record of ${name}`, async () => {
        await put();
        await put(other, 0, 'theirs');
        await swap(version(other), version());
        expect(await fails(secrets.read(web))).to.be.instanceOf(UnreadableSecretFault);
      });

      it(`a head of ${name}`, async () => {
        await put();
        await put(other, 0, 'theirs');
        await swap(keys.secret(other.tenant, other.namespace, other.label), keys.secret(tenant, 'deployments', 'web'));
        expect(await fails(secrets.read(web))).to.be.instanceOf(UnreadableSecretFault);
      });
    }

    it('an older version in the place of a newer one', async () => {
      await put();
      await put(web, 1, 'newer');
      await swap(version(web, 1), version(web, 2));
      expect(await fails(secrets.read(web))).to.be.instanceOf(UnreadableSecretFault);
    });

    it('a record of a credential that was deleted and created again', async () => {
      await put();
      const old = (await store.get(version()))!;
      await secrets.delete(web);
      await put();
      await replace(store, (await store.get(version()))!, value(old));
      expect(await fails(secrets.read(web))).to.be.instanceOf(UnreadableSecretFault);
    });

    it('a head that was made to point at an older version', async () => {
      await put();
      await put(web, 1, 'newer');
      const head = (await store.get(keys.secret(tenant, 'deployments', 'web')))!;
      await replace(store, head, { ...value<object>(head), pin: 1 });
      for (const work of [secrets.read(web), secrets.state(web), destroy(1), put(web, 2)]) {
        expect(await fails(work)).to.be.instanceOf(UnreadableSecretFault);
      }
    });

    it('a missing record', async () => {
      await put();
      const record = (await store.get(version()))!;
      await store.commit({ guards: [{ key: record.key, at: record.revision }], puts: [], deletes: [record.key] });
      expect(await fails(secrets.read(web))).to.be.instanceOf(UnreadableSecretFault);
    });

    const garbage: readonly [string, unknown][] = [
      ['a list', []],
      ['nothing', null],
      ['an empty object', {}],
      ['numbers', { keyId: 1, salt: 2, box: 3 }],
      ['an empty box', { keyId: keyring.writing.id, salt: '', box: '' }],
    ];
    for (const [name, document] of garbage) {
      it(`${name} where a record should be`, async () => {
        await put();
        await replace(store, (await store.get(version()))!, document);
        expect(await fails(secrets.read(web))).to.be.instanceOf(UnreadableSecretFault);
      });

      it(`${name} where a head should be`, async () => {
        await put();
        await replace(store, (await store.get(keys.secret(tenant, 'deployments', 'web')))!, document);
        expect(await fails(secrets.read(web))).to.be.instanceOf(UnreadableSecretFault);
      });
    }

    it('bytes that are not JSON', async () => {
      await put();
      const { key, revision } = (await store.get(version()))!;
      await store.commit({ guards: [{ key, at: revision }], puts: [{ key, bytes: Buffer.from('{') }], deletes: [] });
      expect(await fails(secrets.read(web))).to.be.instanceOf(UnreadableSecretFault);
    });

    it('a key that is not in the keyring', async () => {
      await put();
      const elsewhere = embedded(store, { keyring: new SecretKeyring([random.bytes(32)]) });
      expect(await fails(elsewhere.read(web))).to.be.instanceOf(UnreadableSecretFault);
    });
  });

  it('keeps the configured number of versions, and never drops one of a rotation', async () => {
    secrets = embedded(store, { keepVersions: 3 });
    for (let after = 0; after < 5; after++) await put(web, after, `v${after + 1}`);
    expect((await store.list('secret-versions/')).entries).to.have.length(3);
    expect(await secrets.read(web, 2)).to.deep.equal({ kind: 'missing' });

    await secrets.promote(web, 4);
    for (let after = 5; after < 8; after++) {
      await secrets.write(web, { document: toSecretDocument({ n: String(after) }), after, as: 'pending' });
    }
    expect(await secrets.state(web)).to.have.deep.property('state', { last: 8, current: 4, pending: 8, previous: 3 });
    expect((await store.list('secret-versions/')).entries).to.have.length(3);
  });

  const beyond: readonly [string, Record<string, string>][] = [
    ['no key', {}],
    ['too many keys', Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, 'v']))],
    ['a long value', { key: 'x'.repeat(65_537) }],
    ['too many bytes', Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`k${n}`, 'x'.repeat(60_000)]))],
  ];
  for (const [name, values] of beyond) {
    it(`refuses a document with ${name}`, async () => {
      const write = secrets.write(web, { document: toSecretDocument(values), after: 0, as: 'current' });
      expect(await fails(write)).to.be.instanceOf(SecretDocumentFault);
    });
  }

  it('is unavailable while its store is', async () => {
    const down = new Proxy(store, {
      get: () => () => Promise.reject(new StoreUnavailableFault('down')),
    });
    secrets = embedded(down);
    for (const work of [secrets.read(web), secrets.state(web), put(), secrets.promote(web, 1), destroy(1)]) {
      expect(await fails(work)).to.be.instanceOf(SecretStoreUnavailableFault);
    }
  });

  it('reports an unknown outcome when the response is lost, and accepts the same change again', async () => {
    let lost = true;
    const commit = async (change: Change) => {
      const verdict = await store.commit(change);
      if (lost) throw new OutcomeUnknownFault();
      return verdict;
    };
    secrets = embedded({
      get: (key: string) => store.get(key),
      list: (prefix: string) => store.list(prefix),
      commit,
    } as unknown as Store);
    expect(await fails(put())).to.be.instanceOf(SecretOutcomeUnknownFault);
    lost = false;
    expect(await put()).to.deep.equal({ kind: 'written', version: 1 });
    lost = true;
    expect(await fails(destroy(1))).to.be.instanceOf(SecretOutcomeUnknownFault);
    lost = false;
    expect(await destroy(1)).to.deep.equal({ kind: 'destroyed' });
    expect(await secrets.state(web)).to.have.deep.property('state', { last: 1 });
  });

  it('changes nothing for a leader that is none any more', async () => {
    await put();
    const leader = (revision: number) => ({ guards: [{ key: 'leaders/janitor', created: revision }] });
    const elected = await store.commit({
      guards: [{ key: 'leaders/janitor', at: 0 }],
      puts: [{ key: 'leaders/janitor', bytes: encode({}) }],
      deletes: [],
    });
    const reading = await secrets.state(web);
    const uid = reading.kind === 'found' ? reading.uid : '';
    const now = leader(elected.stored ? elected.revision : 0);
    const before = leader(1);
    const write = { document: toSecretDocument({ password: 'next' }), after: 1, as: 'pending' } as const;
    for (const work of [
      () => secrets.write(web, { ...write, ...before }),
      () => secrets.destroy(web, 1, { uid, ...before }),
    ])
      expect(await fails(work())).to.be.instanceOf(SecretPreconditionFault);
    expect(await secrets.state(web)).to.have.deep.property('state', { last: 1, current: 1 });
    expect(await secrets.write(web, { ...write, ...now })).to.have.property('kind', 'written');
    expect(await fails(secrets.promote(web, 2, before))).to.be.instanceOf(SecretPreconditionFault);
    expect(await secrets.promote(web, 2, now)).to.have.property('kind', 'promoted');
    expect(await secrets.destroy(web, 1, { uid, ...now })).to.have.property('kind', 'destroyed');
    expect(await secrets.state(web)).to.have.deep.property('state', { last: 2, current: 2 });
  });

  it('stores heads without values', async () => {
    await put();
    const head = (await store.get(keys.secret(tenant, 'deployments', 'web')))!;
    expect(Object.keys(value<object>(head)).sort()).to.deep.equal(['code', 'keyId', 'last', 'live', 'uid']);
    expect(encode(value(head)).length).to.be.below(400);
  });
});
