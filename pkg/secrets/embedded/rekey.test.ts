import { expect } from 'chai';

import { seededRandom, systemClock } from '../../clock/index.js';
import { MemoryStore, remove, replace, value } from '../../store/index.js';
import { credentialPath } from '../credential-path.js';
import { documentOf, revealDocument } from '../document.js';
import { EmbeddedSecretStore } from './embedded-secret-store.js';
import { rekeySecrets } from './rekey.js';
import { SecretKeyring } from './secret-keyring.js';

const random = seededRandom(3);
const [older, newer] = [random.bytes(32), random.bytes(32)];
const tenant = 'a2d1b2a0-0000-4000-8000-000000000001';
const paths = ['web', 'api', 'db'].map(label => credentialPath(tenant, `deployments/${label}`));

describe('rekeySecrets', () => {
  let store: MemoryStore;
  const open = (...keys: Buffer[]) =>
    new EmbeddedSecretStore({ store, keyring: new SecretKeyring(keys), random, granted: ['deployments'] });
  const rekey = (...keys: Buffer[]) => rekeySecrets({ store, keyring: new SecretKeyring(keys), random });

  beforeEach(async () => {
    store = new MemoryStore({ clock: systemClock });
    for (const path of paths) {
      await open(older).write(path, { document: documentOf({ a: path.label }), after: 0, as: 'current' });
      await open(older).write(path, { document: documentOf({ a: 'staged' }), after: 1, as: 'pending' });
    }
  });

  it('seals everything with the first key, so that the other can go', async () => {
    expect(await rekey(newer, older)).to.deep.equal({ rewritten: 9, unchanged: 0, unreadable: [] });
    for (const path of paths) {
      const reading = await open(newer).read(path);
      expect(reading.kind === 'found' && revealDocument(reading.document)).to.deep.equal({ a: path.label });
      expect(await open(newer).state(path)).to.have.deep.property('state', { last: 2, current: 1, pending: 2 });
    }
  });

  it('finds nothing to do the second time', async () => {
    await rekey(newer, older);
    const before = await store.revision();
    expect(await rekey(newer, older)).to.deep.equal({ rewritten: 0, unchanged: 9, unreadable: [] });
    expect(await store.revision()).to.equal(before);
  });

  it('names what it cannot read, leaves it, and does the rest', async () => {
    const record = (await store.list(`secret-versions/${tenant}/deployments/web/`)).entries[0]!;
    await replace(store, record, { ...value<object>(record), box: 'AAAA' });
    const gone = (await store.list(`secret-versions/${tenant}/deployments/db/`)).entries[0]!;
    await remove(store, gone);

    const { rewritten, unreadable } = await rekey(newer, older);
    expect(unreadable).to.deep.equal([`secrets/${tenant}/deployments/db`, `secrets/${tenant}/deployments/web`]);
    expect(rewritten).to.equal(3);
  });

  it('reads with every key of the ring while the work is half done', async () => {
    const both = open(newer, older);
    await both.write(paths[0]!, { document: documentOf({ a: 'new' }), after: 2, as: 'current' });
    for (const path of paths) expect(await both.read(path)).to.have.property('kind', 'found');
  });

  it('does not lose a change that is made meanwhile', async () => {
    const [changed] = await Promise.all([
      open(older).write(paths[0]!, { document: documentOf({ a: 'meanwhile' }), after: 2, as: 'current' }),
      rekey(newer, older),
    ]);
    expect(changed).to.deep.equal({ kind: 'written', version: 3 });
    await rekey(newer, older);
    const reading = await open(newer).read(paths[0]!);
    expect(reading.kind === 'found' && revealDocument(reading.document)).to.deep.equal({ a: 'meanwhile' });
  });
});
