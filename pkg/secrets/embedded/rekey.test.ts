import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import { seededRandom, systemClock } from '../../clock/index.js';
import { type Change, MemoryStore, remove, replace, value } from '../../store/index.js';
import { toCredentialPath } from '../credential-path.js';
import { toSecretDocument, revealDocument } from '../document.js';
import { EmbeddedSecretStore } from './embedded-secret-store.js';
import { readKeysInUse } from './keys-in-use.js';
import { type RekeyOptions, rekeySecrets } from './rekey.js';
import { SecretKeyring } from './secret-keyring.js';

const random = seededRandom(3);
const [older, newer] = [random.bytes(32), random.bytes(32)];
const tenant = 'a2d1b2a0-0000-4000-8000-000000000001';
const paths = ['web', 'api', 'db'].map(label => toCredentialPath(tenant, `deployments/${label}`));

describe('rekeySecrets', () => {
  let store: MemoryStore;
  const open = (...keys: Buffer[]) =>
    new EmbeddedSecretStore({ store, keyring: new SecretKeyring(keys), random, granted: ['deployments'] });
  const rekeyWith = (keys: readonly Buffer[], more: Partial<RekeyOptions> = {}) =>
    rekeySecrets({ store, keyring: new SecretKeyring(keys), random, ...more });
  const rekey = (...keys: Buffer[]) => rekeyWith(keys);
  const nameKey = (key: Buffer) => new SecretKeyring([key]).writing.id;
  const write = (keys: readonly Buffer[], after: number, a: string) =>
    open(...keys).write(paths[0]!, { document: toSecretDocument({ a }), after, as: 'current' });

  beforeEach(async () => {
    store = new MemoryStore({ clock: systemClock });
    for (const path of paths) {
      await open(older).write(path, { document: toSecretDocument({ a: path.label }), after: 0, as: 'current' });
      await open(older).write(path, { document: toSecretDocument({ a: 'staged' }), after: 1, as: 'pending' });
    }
  });

  it('seals everything with the first key and retires the other', async () => {
    expect(await rekey(newer, older)).to.deep.equal({
      outcome: 'done',
      rewritten: 9,
      unreadable: [],
      retired: [nameKey(older)],
    });
    for (const path of paths) {
      const reading = await open(newer).read(path);
      expect(reading.kind === 'found' && revealDocument(reading.document)).to.deep.equal({ a: path.label });
      expect(await open(newer).state(path)).to.have.deep.property('state', { last: 2, current: 1, pending: 2 });
    }
    expect((await readKeysInUse(store)).names).to.deep.equal([nameKey(newer)]);
  });

  it('finds nothing to do the second time', async () => {
    await rekey(newer, older);
    expect(await rekey(newer, older)).to.deep.equal({ outcome: 'done', rewritten: 0, unreadable: [], retired: [] });
  });

  it('reports unreadable credentials, leaves them, re-seals the rest and retires no key', async () => {
    const record = (await store.list(`secret-versions/${tenant}/deployments/web/`)).entries[0]!;
    await replace(store, record, { ...value<object>(record), box: 'AAAA' });
    const gone = (await store.list(`secret-versions/${tenant}/deployments/db/`)).entries[0]!;
    await remove(store, gone);

    const { outcome, rewritten, unreadable, retired } = await rekey(newer, older);
    expect(unreadable.map(({ tenant: whose, path }) => [whose, path])).to.deep.equal([
      [tenant, 'deployments/db'],
      [tenant, 'deployments/web'],
    ]);
    expect([outcome, rewritten, retired]).to.deep.equal(['unreadable', 3, []]);
    expect((await readKeysInUse(store)).names).to.include(nameKey(older));
  });

  it('destroys unreadable credentials only on request', async () => {
    const stranger = random.bytes(32);
    expect((await rekeyWith([stranger, older])).outcome).to.equal('done');
    await write([newer, stranger], 2, 'ours');
    const left = await rekeyWith([newer], { discardUnreadable: true });
    expect([left.outcome, left.unreadable]).to.deep.equal(['done', []]);
    // A credential goes as a whole: its first two versions are sealed with a key that is lost.
    expect((await store.list('secrets/')).entries).to.deep.equal([]);
    expect((await store.list('secret-versions/')).entries).to.deep.equal([]);
    expect((await readKeysInUse(store)).names).to.deep.equal([nameKey(newer)]);
  });

  it('can be stopped anywhere and continues later', async () => {
    for (let most = 0; most < paths.length; most++) {
      const stop = new AbortController();
      let left = most;
      if (left === 0) stop.abort();
      const onProgress = () => {
        if (--left === 0) stop.abort();
      };
      const { outcome } = await rekeyWith([newer, older], { signal: stop.signal, onProgress });
      expect(outcome).to.equal('stopped');
      for (const path of paths) expect(await open(newer, older).read(path)).to.have.property('kind', 'found');
    }
    expect(await rekey(newer, older)).to.deep.include({ outcome: 'done', retired: [nameKey(older)] });
  });

  it('does not retire a key that another process keeps sealing with', async () => {
    let after = 2;
    // At the worst moment: when all has been gone through, and is about to be declared done.
    const meddled = new Proxy(store, {
      get: (target, name) =>
        name === 'commit'
          ? async (change: Change) => {
              if (change.puts[0]?.key === keys.secretKeyring()) await write([older, newer], after++, 'meanwhile');
              return target.commit(change);
            }
          : (Reflect.get(target, name) as () => unknown).bind(target),
    });
    const contested = await rekeyWith([newer, older], { store: meddled });
    expect(contested).to.deep.include({ outcome: 'contested', retired: [] });
    expect((await readKeysInUse(store)).names).to.have.members([nameKey(older), nameKey(newer)]);
    expect(await rekey(newer, older)).to.deep.include({ outcome: 'done', retired: [nameKey(older)] });
  });

  it('reads with every key of the ring while the work is half done', async () => {
    const both = open(newer, older);
    await both.write(paths[0]!, { document: toSecretDocument({ a: 'new' }), after: 2, as: 'current' });
    for (const path of paths) expect(await both.read(path)).to.have.property('kind', 'found');
  });

  it('does not lose a change that is made meanwhile', async () => {
    const [changed] = await Promise.all([
      open(older).write(paths[0]!, { document: toSecretDocument({ a: 'meanwhile' }), after: 2, as: 'current' }),
      rekey(newer, older),
    ]);
    expect(changed).to.deep.equal({ kind: 'written', version: 3 });
    await rekey(newer, older);
    const reading = await open(newer).read(paths[0]!);
    expect(reading.kind === 'found' && revealDocument(reading.document)).to.deep.equal({ a: 'meanwhile' });
  });
});
