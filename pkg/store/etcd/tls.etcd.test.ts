import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { EtcdProcess, findFreePort } from '../../../dev/processes/index.js';
import { type CertificateFiles, CertificateFolder, readCertificates } from '../../certificates/index.js';
import { StoreUnavailableFault } from '../faults.js';
import { RecordingWatch } from '../store.testing.js';
import { create } from '../documents.js';
import { EtcdStore } from './etcd-store.js';

describe('etcd over TLS with a client certificate', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let files: CertificateFiles;
  let endpoint: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-tls-'));
    const authority = new CertificateFolder({ folder, authorityName: 'ca', now: Date.now });
    files = authority.ensure('mooring', ['127.0.0.1', 'localhost'], ['server', 'client']);
    const [plain, secure] = [await findFreePort(), await findFreePort()];
    endpoint = `https://127.0.0.1:${secure}`;
    etcd = await EtcdProcess.start({
      dataDir: join(folder, 'data'),
      clientPort: plain,
      arguments: [
        `--listen-client-urls=http://127.0.0.1:${plain},${endpoint}`,
        `--cert-file=${files.cert}`,
        `--key-file=${files.key}`,
        `--trusted-ca-file=${files.ca}`,
        '--client-cert-auth',
      ],
    });
  });
  after(async () => {
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('writes, reads, watches and leases', async () => {
    const tls = readCertificates(files);
    const store = new EtcdStore({ endpoints: [endpoint], prefix: '/tls/', tls });
    const watch = RecordingWatch.follow(store);
    expect((await create(store, 'a', {})).stored).to.equal(true);
    expect((await store.list('')).entries).to.have.length(1);
    await watch.until(() => watch.keys().has('a'));
    const lease = await store.grant(5);
    expect(await store.keepAlive(lease.id)).to.equal(true);
    await watch.stop();
    await store.close();
  });

  it('refuses a server whose certificate it does not trust', async () => {
    const store = new EtcdStore({ endpoints: [endpoint], prefix: '/tls/', callDeadlineMs: 500 });
    const fault = await store.get('a').catch((thrown: unknown) => thrown);
    expect(fault).to.be.instanceOf(StoreUnavailableFault);
    await store.close();
  });
});
