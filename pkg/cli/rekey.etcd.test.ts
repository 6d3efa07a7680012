import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { ranges } from '../../crds/keys/index.js';
import { sleep, systemClock, systemRandom } from '../clock/index.js';
import { EtcdProcess } from '../../dev/processes/index.js';
import { toCredentialPath, toSecretDocument, EmbeddedSecretStore, loadSecretKeyring } from '../secrets/index.js';
import { EtcdStore, replace, value } from '../store/index.js';
import { clone } from '../version/index.js';
import { createTestTerminal } from '../terminal/terminal.testing.js';
import { run } from './run.js';

const TENANT = 'a2d1b2a0-0000-4000-8000-000000000001';
const COUNT = 150;
const CANARY = 'canary-7c1b0f';
const command = join(clone, 'moor');

describe('moor admin rekey, on a real etcd', () => {
  const [older, newer] = [systemRandom.bytes(32).toString('base64'), systemRandom.bytes(32).toString('base64')];
  let folder: string;
  let file: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moor-rekey-'));
    file = join(folder, 'secret-keys');
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
    keep(older);
    for (let number = 0; number < COUNT; number++) await write(number, 0); // all at once may wait too long on a busy machine
  });
  after(async () => {
    await store.close();
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const keep = (...keys: readonly string[]) => writeFileSync(file, `${keys.join('\n')}\n`, { mode: 0o600 });
  const toPath = (number: number) => toCredentialPath(TENANT, `deployments/web-${number}`);
  const secrets = () =>
    new EmbeddedSecretStore({
      store,
      keyring: loadSecretKeyring(file),
      random: systemRandom,
      granted: ['deployments'],
    });
  const write = (number: number, after: number) =>
    secrets().write(toPath(number), { document: toSecretDocument({ password: CANARY }), after, as: 'current' });
  const words = () => ['admin', 'rekey', '--etcd-endpoints', etcd.endpoint, '--secrets-key-file', file];
  const rekey = async (...more: readonly string[]) => {
    const terminal = createTestTerminal({}, { random: systemRandom });
    const code = await run([...words(), ...more], terminal);
    return { code, ...terminal.printed };
  };
  const sealedWith = async () => {
    const records = [ranges.secrets, ranges.secretVersions].map(async range => (await store.list(range)).entries);
    return (await Promise.all(records)).flat().map(entry => value<{ keyId: string }>(entry).keyId);
  };
  const allReadable = async () => {
    for (let number = 0; number < COUNT; number++)
      if ((await secrets().read(toPath(number))).kind !== 'found') return false;
    return true;
  };

  it('leaves every secret readable when it is killed in the middle', async () => {
    keep(newer, older);
    const { id } = loadSecretKeyring(file).writing;
    const child = spawn(command, words(), { stdio: 'ignore' });
    const exited = once(child, 'exit');
    while (!(await sealedWith()).includes(id)) await sleep(systemClock, 5);
    child.kill('SIGKILL');
    await exited;

    const half = await sealedWith();
    expect(half.filter(name => name === id).length, 'killed in the middle').to.be.within(1, half.length - 1);
    expect(await allReadable()).to.equal(true);
  });

  it('completes while others write, and names the keys that may be removed', async () => {
    let isDone = false;
    const writing = (async () => {
      let after = 1;
      for (; !isDone; after++) expect((await write(0, after)).kind).to.equal('written');
      return after;
    })();
    const { code, out, err } = await rekey();
    isDone = true;
    const last = await writing;

    expect([code, err.replace(/^\d+ of \d+ secrets checked\n/gm, '')]).to.deep.equal([0, '']);
    expect(out)
      .to.match(/^\d+ records sealed again\n/)
      .and.to.contain('no longer used');
    keep(newer);
    expect(await allReadable()).to.equal(true);
    expect(await secrets().state(toPath(0))).to.have.nested.property('state.current', last);
    expect((await rekey()).out).to.match(/^0 records/);
  });

  it('names unreadable secrets by tenant and path, never by value', async () => {
    const entry = (await store.list(`${ranges.secretVersions}${TENANT}/deployments/web-7/`)).entries[0]!;
    await replace(store, entry, { ...value<object>(entry), keyId: 'unknown' });
    const refused = await rekey();
    expect([refused.code, refused.err.includes(`tenant ${TENANT}, deployments/web-7`)]).to.deep.equal([1, true]);
    expect(refused.out + refused.err).not.to.contain(CANARY);

    expect((await rekey('--discard-unreadable')).code, 'not confirmed').to.equal(1);
    expect((await rekey('--discard-unreadable', '--yes')).code).to.equal(0);
    expect((await secrets().read(toPath(7))).kind).to.equal('missing');
    expect((await secrets().read(toPath(8))).kind).to.equal('found');
  });

  it('refuses a missing keyring, another driver and an unknown setting', async () => {
    expect((await rekey('--secrets-key-file', join(folder, 'none'))).code).to.equal(2);
    expect((await rekey('--secrets-driver', 'vault')).code).to.equal(2);
    expect((await rekey('--no-such-setting', 'x')).code).to.equal(2);
  });
});
