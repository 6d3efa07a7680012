import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';

import { expect } from 'chai';

import { der, parseAddress } from './der.js';
import { type CertificateFiles, CertificateFolder, readCertificates } from './certificate-folder.js';
import { CertificateFault } from './issue.js';

const DAY_MS = 86_400_000;
const HOSTS = ['127.0.0.1', '::1', 'localhost', 'api.example'];

describe('DER', () => {
  const hex = (bytes: Buffer | undefined) => bytes?.toString('hex');

  const values: readonly [what: string, encoded: Buffer, expected: string][] = [
    ['zero', der.integer(Buffer.of(0, 0)), '020100'],
    ['a number whose first bit is set', der.integer(Buffer.of(0, 0x80)), '02020080'],
    ['an object id', der.objectId('1.2.840.10045.4.3.2'), '06082a8648ce3d040302'],
    [
      'the last second with two digits',
      der.time(Date.UTC(2049, 11, 31, 23, 59, 59, 900)),
      '170d3439313233313233353935395a',
    ],
    ['the first second with four digits', der.time(Date.UTC(2050, 0, 1)), '180f32303530303130313030303030305a'],
    ['a length of two bytes', der.octetString(Buffer.alloc(300)).subarray(0, 4), '0482012c'],
    ['a length of one byte more', der.octetString(Buffer.alloc(128)).subarray(0, 3), '048180'],
  ];
  for (const [what, encoded, expected] of values) {
    it(`encodes ${what}`, () => {
      expect(hex(encoded)).to.equal(expected);
    });
  }

  const addresses: readonly [text: string, expected: string | undefined][] = [
    ['127.0.0.1', '7f000001'],
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['2001:db8::8:800', '20010db8000000000000000000080800'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['::ffff:10.0.0.1', '00000000000000000000ffff0a000001'],
    ['fe80::1%lo', undefined],
    ['localhost', undefined],
  ];
  for (const [text, expected] of addresses) {
    it(`reads the address ${text}`, () => {
      expect(hex(parseAddress(text))).to.equal(expected);
    });
  }
});

describe('a folder of certificates', () => {
  let folder: string;
  let now: number;
  const open = () => new CertificateFolder({ folder, authorityName: 'test authority', now: () => now });
  const openServer = () => open().ensure('server', HOSTS, ['server']);
  const read = (path: string) => new X509Certificate(readFileSync(path));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-certificates-'));
    now = Date.now() - 200 * DAY_MS; // later times of a test are still in the past, as TLS wants them
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('issues what both sides of TLS accept', async () => {
    const client = open().ensure('client', [], ['client']);
    const peer = await shakeHands(openServer(), client, 'localhost');

    expect(peer.subject.CN).to.equal('client');
  });

  it('issues a client certificate that no server may show', async () => {
    const client = open().ensure('client', HOSTS, ['client']);

    expect(await shakeHands(client, client, 'localhost').catch((error: Error) => error.message)).to.match(/purpose/);
  });

  it('names every host, and its authority', () => {
    const files = openServer();
    const [server, authority] = [read(files.cert), read(files.ca)];

    expect(HOSTS.filter(host => !(isIP(host) ? server.checkIP(host) : server.checkHost(host)))).to.deep.equal([]);
    expect([server.checkIssued(authority), server.ca, authority.ca]).to.deep.equal([true, false, true]);
    expect(authority.subject).to.equal('CN=test authority');
  });

  it('keeps every file to its owner', () => {
    openServer();

    expect(readdirSync(folder).map(name => statSync(join(folder, name)).mode & 0o777)).to.deep.equal([
      0o600, 0o600, 0o600, 0o600,
    ]);
    expect(statSync(folder).mode & 0o777).to.equal(0o700);
  });

  it('leaves renewed files to whom the folder belongs, also when root renews them', () => {
    const { cert } = openServer();
    const owner = process.getuid?.() === 0 ? 65_534 : statSync(cert).uid;
    for (const path of [folder, cert]) chownSync(path, owner, owner === 65_534 ? owner : statSync(path).gid);
    open().renew({ all: true });
    open().ensure('another', HOSTS, ['server']);

    const owners = ['server.pem', 'another.pem', 'another.key'].map(name => statSync(join(folder, name)).uid);
    expect(owners).to.deep.equal([owner, owner, owner]);
  });

  it('changes nothing while everything is sound', () => {
    const { cert } = openServer();
    const before = readFileSync(cert, 'utf8');
    now += 100 * DAY_MS;

    expect(readFileSync(openServer().cert, 'utf8')).to.equal(before);
  });

  const reasons: readonly [what: string, act: (files: CertificateFiles) => void][] = [
    ['half of its life is over', () => (now += 190 * DAY_MS)],
    ['it is damaged', ({ cert }) => writeFileSync(cert, 'no certificate')],
    ['it is missing, as after a crash between key and certificate', ({ cert }) => rmSync(cert)],
    ['its key is new', ({ key }) => rmSync(key)],
    ['its authority is new', ({ ca }) => (rmSync(ca), rmSync(ca.replace('.pem', '.key')))],
  ];
  for (const [what, act] of reasons) {
    it(`issues a certificate again when ${what}`, async () => {
      const before = openServer();
      const serial = read(before.cert).serialNumber;
      act(before);
      const after = openServer();

      expect(read(after.cert).serialNumber).to.not.equal(serial);
      await shakeHands(after, open().ensure('client', [], ['client']), '127.0.0.1');
    });
  }

  it('issues a certificate again for one more host, with the same key', () => {
    const key = readFileSync(openServer().key, 'utf8');
    const files = open().ensure('server', [...HOSTS, 'one.more'], ['server']);

    expect(read(files.cert).checkHost('one.more')).to.equal('one.more');
    expect(readFileSync(files.key, 'utf8')).to.equal(key);
  });

  it('renews the authority in time, for the same key: what it issued stays valid', async () => {
    const old = openServer();
    const before = read(old.ca);
    now += 2_000 * DAY_MS;
    open();

    expect(read(old.ca).serialNumber).to.not.equal(before.serialNumber);
    expect(read(old.cert).verify(read(old.ca).publicKey)).to.equal(true);
  });

  it('ends with the remedy when a key is damaged', () => {
    writeFileSync(openServer().key, 'no key');

    expect(openServer).to.throw(CertificateFault, /server\.key is not a private key: restore it, or remove the folder/);
  });

  it('refuses a host that is none', () => {
    expect(() => open().ensure('server', ['a b'], ['server'])).to.throw(CertificateFault, /"a b" is neither/);
  });
});

/** What the server sees of the client, after both have verified each other. */
async function shakeHands(server: CertificateFiles, client: CertificateFiles, host: string) {
  const listener = createServer({ ...readCertificates(server), requestCert: true, rejectUnauthorized: true });
  listener.on('tlsClientError', () => undefined);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  try {
    const accepted = once(listener, 'secureConnection') as Promise<[TLSSocket]>;
    const { port } = listener.address() as AddressInfo;
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: host === 'localhost' ? host : '',
      ...readCertificates(client),
    });
    const failed = once(socket, 'close').then(() => Promise.reject(new Error('the connection was closed')));
    const [error] = await Promise.race([once(socket, 'secureConnect'), once(socket, 'error')]);
    if (error) throw error as Error;
    const [peer] = await Promise.race([accepted, failed]);
    const seen = peer.getPeerCertificate();
    failed.catch(() => undefined);
    socket.destroy();
    return seen;
  } finally {
    listener.close();
  }
}
