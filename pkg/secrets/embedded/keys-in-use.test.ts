import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import { ExposedKeyFileFault } from '../../auth/index.js';
import { systemClock, systemRandom } from '../../clock/index.js';
import { MemoryStore, remove } from '../../store/index.js';
import { toCredentialPath } from '../credential-path.js';
import { toSecretDocument } from '../document.js';
import { SecretKeyringFault } from '../faults.js';
import { EmbeddedSecretStore } from './embedded-secret-store.js';
import { openStoreKeyring } from './keys-in-use.js';
import type { SecretKeyring } from './secret-keyring.js';

const web = toCredentialPath('a2d1b2a0-0000-4000-8000-000000000001', 'deployments/web');

describe('the keyring of a store', () => {
  let folder: string;
  let file: string;
  let store: MemoryStore;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-keyring-'));
    file = join(folder, 'secret-keys');
    store = new MemoryStore({ clock: systemClock });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const open = (at = file) => openStoreKeyring(store, at, systemRandom);
  const refused = (at?: string) => open(at).catch((thrown: unknown) => thrown);
  const key = () => systemRandom.bytes(32).toString('base64');
  const keep = (...keys: readonly string[]) => writeFileSync(file, `${keys.join('\n')}\n`, { mode: 0o600 });
  const write = (keyring: SecretKeyring, after = 0) =>
    new EmbeddedSecretStore({ store, keyring, random: systemRandom, granted: ['deployments'] }).write(web, {
      document: toSecretDocument({ a: '1' }),
      after,
      as: 'current',
    });

  it('is created once, readable by its owner only, in a store without secrets', async () => {
    const first = await open();
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect((await open()).writing.id).to.equal(first.writing.id);
  });

  it('is not created when it is missing and the store has secrets', async () => {
    await write(await open());
    rmSync(file);
    const fault = await refused();
    expect(fault).to.be.instanceOf(SecretKeyringFault);
    expect((fault as Error).message)
      .to.include(file)
      .and.to.include('docs/SECRETS.md');
    expect(existsSync(file)).to.equal(false);
  });

  it('is refused when it is the keyring of another store', async () => {
    const { writing } = await open();
    keep(key());
    const fault = await refused();
    expect(fault).to.be.instanceOf(SecretKeyringFault);
    expect((fault as Error).message).to.include(writing.id);
  });

  it('may have a new key in front, and must then keep both', async () => {
    const [older, newer] = [key(), key()];
    keep(older);
    await write(await open());
    keep(newer, older);
    await write(await open(), 1);
    keep(newer);
    expect(await refused()).to.be.instanceOf(SecretKeyringFault);
    keep(older);
    expect(await refused()).to.be.instanceOf(SecretKeyringFault);
    keep(older, newer);
    await open();
  });

  it('is checked against the records of a store without a key list', async () => {
    const [older, newer] = [key(), key()];
    keep(older);
    await write(await open());
    await remove(store, (await store.get(keys.secretKeyring()))!);
    rmSync(file);
    expect(await refused()).to.be.instanceOf(SecretKeyringFault);
    expect(existsSync(file)).to.equal(false);
    keep(newer);
    expect(await refused()).to.be.instanceOf(SecretKeyringFault);

    keep(newer, older);
    await write(await open(), 1);
    keep(newer);
    expect(await refused()).to.be.instanceOf(SecretKeyringFault);
  });

  for (const mode of [0o640, 0o604, 0o660, 0o666]) {
    it(`is refused when others can read it: mode ${mode.toString(8)}`, async () => {
      await open();
      chmodSync(file, mode);
      expect(await refused()).to.be.instanceOf(ExposedKeyFileFault);
    });
  }

  it('is the first one’s when two machines start at the same time', async () => {
    const [one, other] = await Promise.all([refused(), refused(join(folder, 'elsewhere'))]);
    const faults = [one, other].filter(each => each instanceof SecretKeyringFault);
    expect(faults).to.have.length(1);
    // And so it stays: the second has a keyring of its own by now, which is not the right one.
    const again = [await refused(), await refused(join(folder, 'elsewhere'))];
    expect(again.filter(each => each instanceof SecretKeyringFault)).to.have.length(1);
  });
});
