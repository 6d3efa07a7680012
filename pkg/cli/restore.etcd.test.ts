import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { AdvertisedSetBack } from '../../crds/node/index.js';
import { EtcdProcess } from '../../dev/processes/index.js';
import { nodeRecord } from '../link/dispatcher-lab.testing.js';
import { encode, EtcdStore, value } from '../store/index.js';
import { createTestTerminal } from '../terminal/terminal.testing.js';
import { run } from './run.js';

const TENANT = nodeRecord.metadata.tenant;
const volumes = { removed: [], demoted: [], discarded: [], newer: [], unknown: [] };
const told: AdvertisedSetBack = { containers: ['web/0'], ...volumes, secrets: [], digest: 'd'.repeat(32) };

describe('moor admin restore, on a real etcd', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moor-restore-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
  });
  after(async () => {
    await store.close();
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const put = async (key: string, document: object | undefined) => {
    const stored = await store.get(key);
    const change = document ? { puts: [{ key, bytes: encode(document) }], deletes: [] } : { puts: [], deletes: [key] };
    await store.commit({ guards: [{ key, at: stored?.revision ?? 0 }], ...change });
  };
  const tell = (name: string, setBack: AdvertisedSetBack | undefined) =>
    put(keys.node(TENANT, name), { ...nodeRecord, id: `node_${name}`, name, ...(setBack && { setBack }) });
  const restore = async (words: readonly string[] = [], confirm = async () => false) => {
    const terminal = createTestTerminal({}, { confirm });
    const code = await run(['admin', 'restore', ...words, '--etcd-endpoints', etcd.endpoint], terminal);
    return { code, ...terminal.printed };
  };
  const declared = async () => {
    const record = await store.get(keys.restoreEpoch());
    return record && value<{ confirmed: object }>(record).confirmed;
  };

  beforeEach(async () => {
    for (const name of ['n1', 'n2']) await put(keys.alive(TENANT, name), { id: `node_${name}`, lease: 'l', since: '' });
    await tell('n1', told);
    await tell('n2', { ...told, containers: [] });
    await put(keys.setBack(), { revision: 90, restoreEpoch: 0, found: 40, at: '2030-01-01T00:00:00.000Z' });
    if (await store.get(keys.restoreEpoch())) await put(keys.restoreEpoch(), undefined);
  });

  it('shows what would go, and declares it when that is confirmed', async () => {
    const refused = await restore();
    expect([refused.code, await declared()]).to.deep.equal([1, undefined]);
    expect(refused.out).to.contain('would be removed or replaced: web/0');
    const { code, out } = await restore([], async () => true);
    expect([code, await declared()]).to.deep.equal([0, { node_n1: told.digest }]);
    expect(out).to.contain('the restore is declared');
  });

  it('declares nothing when what the nodes report has changed since it was shown', async () => {
    const change = () => tell('n1', { ...told, containers: ['web/0', 'web/1'], digest: 'e'.repeat(32) });
    const asked = await restore([], async () => (await change(), true));
    expect([asked.code, await declared()]).to.deep.equal([1, undefined]);
    expect(asked.err).to.match(/not declared: What the nodes report.*has changed since/);
    const [, digest = ''] = /--confirm (\w+)/.exec((await restore(['--preview'])).out)!;
    await tell('n1', told);
    expect([(await restore(['--confirm', digest])).code, await declared()]).to.deep.equal([1, undefined]);
  });

  it('waits for nodes that have not answered, unless they are left out, and confirms nothing of them', async () => {
    await tell('n2', undefined);
    const { out } = await restore(['--preview']);
    const [, digest = ''] = /--confirm (\w+) --without n2$/m.exec(out)!;
    const refused = await restore(['--confirm', digest]);
    expect([refused.code, await declared()]).to.deep.equal([1, undefined]);
    expect(refused.err).to.contain('What would go on n2 is not known');
    expect((await restore(['--confirm', digest, '--without', 'n9'])).code).to.equal(2);
    expect((await restore(['--confirm', digest, '--without', 'n2'])).code).to.equal(0);
    expect(await declared()).to.deep.equal({ node_n1: told.digest });
  });

  it('asks nothing where nothing would go', async () => {
    await tell('n1', { ...told, containers: [] });
    expect((await restore()).code).to.equal(0);
    await put(keys.setBack(), undefined);
    for (const name of ['n1', 'n2']) await tell(name, undefined);
    expect((await restore()).code, 'also of a store that was not set back').to.equal(0);
  });

  it('does not take the words of one way for the other', async () => {
    for (const words of [['--confirm', 'a'], ['--without', 'n1'], ['--preview']]) {
      const { code } = await restore(['--from', join(folder, 'data'), '--data-dir', join(folder, 'new'), ...words]);
      expect(code).to.equal(2);
    }
  });
});
