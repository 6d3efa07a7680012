import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';

import { expect } from 'chai';

import { readCertificates } from '../../pkg/certificates/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import { ensureEtcdCertificates, EtcdProcess } from './etcd.js';
import { ProcessStartFault } from './faults.js';
import { findFreePort } from './free-port.js';
import { ownsPort } from './port-owner.js';
import { TcpProxy } from '../../dev/processes/tcp-proxy.js';

describe('processes', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-processes-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('starts etcd, carries calls to it, and finds the data again after kill -9', async () => {
    const etcd = await EtcdProcess.start({ dataDir: join(folder, 'a') });
    const proxy = await TcpProxy.start(etcd.port);
    const body = JSON.stringify({ key: 'YQ==', value: 'Yg==' });
    expect((await fetch(`${proxy.endpoint}/v3/kv/put`, { method: 'POST', body })).ok).to.equal(true);

    await etcd.kill('SIGKILL');
    await etcd.restart();
    const found = await fetch(`${etcd.endpoint}/v3/kv/range`, {
      method: 'POST',
      body: JSON.stringify({ key: 'YQ==' }),
    });
    expect(await found.json()).to.have.nested.property('kvs[0].value', 'Yg==');
    await proxy.stop();
    await etcd.kill();
    expect(await ownsPort(process.pid, etcd.port)).to.equal(false);
  });

  it('shows a renewed certificate to the next client of an etcd that runs', async () => {
    const certificates = join(folder, 'certificates');
    const etcd = await EtcdProcess.start({ dataDir: join(folder, 'tls'), certificates });
    const { cert, key } = readCertificates(ensureEtcdCertificates(certificates, systemClock).client);
    const readSerial = async () => {
      const socket = connect({ port: etcd.port, host: '127.0.0.1', rejectUnauthorized: false, cert, key });
      await once(socket, 'secureConnect');
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    };
    const before = await readSerial();
    ensureEtcdCertificates(certificates, { ...systemClock, now: () => systemClock.now() + 190 * 86_400_000 });

    expect(await readSerial()).to.not.equal(before);
    await etcd.kill('SIGKILL');
  });

  it('says so when etcd is not installed, or another program holds its port', async () => {
    const port = await findFreePort();
    const other = createServer().listen(port, '127.0.0.1');
    for (const options of [{ program: 'no-such-program' }, { clientPort: port }]) {
      const fault = await EtcdProcess.start({ dataDir: join(folder, 'b'), ...options }).catch(
        (thrown: unknown) => thrown,
      );
      expect(fault).to.be.instanceOf(ProcessStartFault);
    }
    expect(await ownsPort(process.pid, port)).to.equal(true);
    other.close();
  });
});
