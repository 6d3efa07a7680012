import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';

import { expect } from 'chai';

import { ApiLab } from '../../api/api-lab.testing.js';
import { until } from '../../dev/testing/index.js';
import { CertificateFolder } from '../../pkg/certificates/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import { fetchPinnedAuthority, HttpLink, parseJoinToken } from '../../pkg/link/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { clone } from '../../pkg/version/index.js';

const HOSTS = ['127.0.0.1', 'localhost'];
const beat = { labels: {}, capacity: { cpu: 1, memory: 1, disk: 1 }, agentVersion: 'test' };
const credentials = { token: 'mnd_secret', agent: '', sign: () => 'signature', now: () => Date.now() };

describe('the identity of the server', () => {
  let folder: string;
  let lab: ApiLab;
  let secureUrl: string;
  let pin: string;
  const warnings: string[] = [];
  const issue = (name: string) =>
    new CertificateFolder({ folder: join(folder, name), authorityName: 'mooring', now: () => Date.now() }).ensure(
      'server',
      HOSTS,
      ['server'],
    );
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-server-identity-'));
    const { cert, key, ca } = issue('server');
    const after = (ms: number, fire: () => void) => systemClock.after(ms === 5_000 ? 50 : ms, fire);
    const settings = { tlsCertFile: cert, tlsKeyFile: key, tlsCaFile: ca, plainHttp: true };
    const log = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    lab = await new ApiLab({ settings, log, clock: { ...systemClock, after } }).start();
    secureUrl = `https://127.0.0.1:${lab.server.port}`;
    const token = await lab.tenantToken(lab.a);
    const join_ = await lab.ask('POST', '/api/v1/nodes/join-tokens', { token, body: {} });
    pin = join_.body['caFingerprint'] as string;
  });
  after(async () => {
    await lab.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Another program that has taken the port of the server, with a certificate of its own. */
  async function startImpostor() {
    const requests: string[] = [];
    const { cert, key, ca } = issue('impostor');
    const chain = `${await readFile(cert, 'utf8')}${await readFile(ca, 'utf8')}`;
    const server = createServer({ cert: chain, key: await readFile(key) }, (request, response) => {
      requests.push(`${request.url} ${request.headers.authorization}`);
      response.end('{}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    return { url, requests, close };
  }

  const readSerial = async () => {
    const socket = connectTls({ port: lab.server.port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  };

  it('is in the join token: an agent finds the authority by its fingerprint, and then speaks TLS with it', async () => {
    expect(parseJoinToken(`mjn_x@${pin}`)).to.deep.equal({ token: 'mjn_x', pin });
    const ca = await fetchPinnedAuthority(secureUrl, pin);
    expect(ca).to.equal(await readFile(join(folder, 'server', 'ca.pem'), 'utf8'));

    const node = await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'machine-1' });
    const link = new HttpLink({ server: secureUrl, ca });
    link.present(lab.credentials(node.text));
    expect(await link.heartbeat(beat)).to.include({ failedAfterMs: 30_000 });
    await link.close();
  });

  it('is demanded before anything is sent: an impostor on the port receives no token', async () => {
    const impostor = await startImpostor();
    const ca = await fetchPinnedAuthority(secureUrl, pin);
    const link = new HttpLink({ server: impostor.url, ca });
    link.present(credentials);
    const attempts = [
      () => link.heartbeat(beat),
      () => link.enrol({ ...beat, nodeName: 'n', publicKey: '', proof: '' }, 'mjn_secret'),
      () => link.assignments(() => undefined, new AbortController().signal),
      () => fetchPinnedAuthority(impostor.url, pin),
    ];
    const outcomes = await Promise.all(
      attempts.map(attempt =>
        attempt().then(
          () => 'served',
          () => 'refused',
        ),
      ),
    );
    await link.close();
    impostor.close();

    expect(outcomes).to.deep.equal(['refused', 'refused', 'refused', 'refused']);
    expect(impostor.requests).to.deep.equal([]);
  });

  it('is not given up for a log stream: an authenticated agent sends nothing to an address without TLS', async () => {
    const link = new HttpLink({ server: secureUrl, ca: await fetchPinnedAuthority(secureUrl, pin) });
    link.present(credentials);
    const slot = { replica: 'r', deploymentUid: 'dep_1', slot: 0 };
    const request = { id: 'x', ...slot, follow: false, tail: 1, server: lab.server.url };
    const refused = await link.declineLogs(request).then(
      () => 'sent',
      (thrown: Error) => thrown.message,
    );
    await link.close();

    expect(refused).to.include('without TLS');
  });

  it('is needed by every agent: one that is given a plain address does not start', async () => {
    const argv = ['agent', '--server', lab.server.url, '--state-dir', join(folder, 'agent'), '--engine', 'simulated'];
    const agent = spawn(join(clone, 'moor'), argv, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    agent.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
    const [code] = (await once(agent, 'exit')) as [number];

    expect(code).to.equal(2);
    expect(said).to.include('https://');
  });

  it('is beside plain HTTP on one port, which silence and half a handshake do not hold for ever', async () => {
    expect((await lab.ask('GET', '/livez')).status).to.equal(200);
    const silent = connect(lab.server.port, '127.0.0.1');
    const half = connect(lab.server.port, '127.0.0.1', () => half.write(Buffer.of(0x16, 3, 1)));
    half.on('error', () => undefined);
    await Promise.all([silent, half].map(socket => once(socket.resume(), 'close')));
    expect((await lab.ask('GET', '/livez')).status).to.equal(200);
  });

  it('is renewed without a restart, and stays while the files cannot be used', async () => {
    const before = await readSerial();
    issue('renewed');
    for (const file of ['server.key', 'server.pem', 'ca.pem']) {
      copyFileSync(join(folder, 'renewed', file), join(folder, 'server', file));
    }
    await until('the new certificate to be in use', async () => (await readSerial()) !== before);
    const renewed = await readSerial();
    copyFileSync(join(folder, 'server', 'server.pem'), join(folder, 'server', 'server.key'));

    await until('the files to be refused', () => warnings.some(message => message.includes('cannot be used')));
    expect(await readSerial()).to.equal(renewed);
  });
});
