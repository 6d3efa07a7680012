import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { EtcdProcess, freePort } from '../../../dev/processes/index.js';
import { StoreUnavailableFault } from '../faults.js';
import { RecordingWatch } from '../store.testing.js';
import { create } from '../documents.js';
import { EtcdStore } from './etcd-store.js';

/** A CA of our own, and one certificate of it for both the server and the client. */
function certificates(folder: string): { readonly ca: string; readonly cert: string; readonly key: string } {
  const path = (name: string) => join(folder, name);
  const openssl = (...argv: string[]) => execFileSync('openssl', argv, { stdio: 'ignore' });
  const request = ['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(...request, '-x509', '-subj', '/CN=ca', '-days', '2', '-keyout', path('ca.key'), '-out', path('ca.pem'));
  openssl(...request, '-subj', '/CN=mooring', '-keyout', path('one.key'), '-out', path('one.csr'));
  writeFileSync(path('names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n');
  const signing = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial', '-days', '2'];
  openssl('x509', '-req', '-in', path('one.csr'), ...signing, '-extfile', path('names'), '-out', path('one.pem'));
  return { ca: path('ca.pem'), cert: path('one.pem'), key: path('one.key') };
}

describe('etcd over TLS with a client certificate', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let files: ReturnType<typeof certificates>;
  let endpoint: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-tls-'));
    files = certificates(folder);
    const [plain, secure] = [await freePort(), await freePort()];
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
    const tls = { ca: readFileSync(files.ca), cert: readFileSync(files.cert), key: readFileSync(files.key) };
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
