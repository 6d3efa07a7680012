import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { buildDemoImage, RegistryProcess } from '../../dev/processes/index.js';
import type { CertificateFiles } from '../certificates/index.js';
import type { CredentialLookup, RegistryCredentials } from './challenge.js';
import type { ImageCheck } from './image-check.js';
import type { RegistrySettings } from './policy.js';
import {
  startByteServer,
  createChecker,
  issueRegistryCertificate,
  REGISTRY_CREDENTIAL,
  REGISTRY_TENANT,
  ScriptedRegistry,
} from './registry-lab.testing.js';
import { ISSUER, SERVICE, createTokenServer } from './token-server.testing.js';

/** What `htpasswd -nbB robot sesame` prints. */
const USERS = 'robot:$2y$05$abcdefghijklmnopqrstuuKcS.CYWVYVaLiiCKrrc0A5s3mGesJ9O\n';
const found: CredentialLookup = { kind: 'found', credential: REGISTRY_CREDENTIAL };
const stranger: CredentialLookup = { kind: 'found', credential: { username: 'robot', password: 'wrong' } };
const none: CredentialLookup = { kind: 'none' };
const absent: ImageCheck = { outcome: 'absent' };

const unreachable = (reason: string) => ({ outcome: 'unreachable', reason });

describe('image checker on Debian’s registry', () => {
  let folder: string;
  let certificates: CertificateFiles;
  let digest: string;
  const running: RegistryProcess[] = [];
  const tokens = new ScriptedRegistry();

  /** Another registry with the same image in it. */
  const start = async (options: Partial<Parameters<typeof RegistryProcess.start>[0]> = {}) => {
    const registry = await RegistryProcess.start({ folder: join(folder, 'registry'), ...options });
    running.push(registry);
    return registry;
  };
  const htpasswd = () => ({ htpasswd: { realm: 'lab', path: join(folder, 'users') } });
  const tls = () => ({ certificate: certificates.cert, key: certificates.key });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moor-'));
    await writeFile(join(folder, 'users'), USERS);
    certificates = issueRegistryCertificate(folder);
    await tokens.start();
    const open = await start();
    await buildDemoImage(open.address);
    const check = await ask(open.address, 'mooring/demo:1');
    digest = (check.outcome === 'present' && check.digest) || 'nothing';
    expect(digest).to.match(/^sha256:[a-f0-9]{64}$/);
  });
  afterEach(async () => {
    for (const registry of running.splice(0)) await registry.kill();
  });
  after(async () => {
    await tokens.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = (
    host: string,
    image: string,
    known: CredentialLookup = none,
    settings: Partial<RegistrySettings> = {},
  ): Promise<ImageCheck> =>
    createChecker({
      settings: { registryInsecure: [host], ...settings },
      answer: known,
      resolve: name => Promise.resolve(name.endsWith('.test') ? ['127.0.0.1'] : []),
    }).check(REGISTRY_TENANT, `${host}/${image}`);

  it('finds images by tag and digest, and reports missing names, tags and digests', async () => {
    const { address } = await start();
    const present = { outcome: 'present', digest };
    expect(await ask(address, 'mooring/demo:1')).to.deep.equal(present);
    expect(await ask(address, `mooring/demo@${digest}`)).to.deep.equal(present);
    expect(await ask(address, `mooring/demo:none@${digest}`)).to.deep.equal(present);
    expect(await ask(address, 'mooring/demo:2')).to.deep.equal(absent);
    expect(await ask(address, 'mooring/none:1')).to.deep.equal(absent);
    expect(await ask(address, `mooring/demo@sha256:${'0'.repeat(64)}`)).to.deep.equal(absent);
    expect(await ask(address, 'mooring/demo:2', found)).to.deep.equal(absent);
  });

  it('checks again once the registry is back', async () => {
    const registry = await start();
    await registry.kill();
    expect(await ask(registry.address, 'mooring/demo:1')).to.deep.equal(unreachable('no_connection'));
    await registry.restart();
    expect(await ask(registry.address, 'mooring/demo:1')).to.deep.equal({ outcome: 'present', digest });
  });

  it('connects to loopback only when the operator lists it', async () => {
    const { address } = await start();
    const refused = { outcome: 'refused', reason: 'address' };
    expect(await ask(address, 'mooring/demo:1', none, { registryInsecure: [] })).to.deep.equal(refused);
  });

  it('finds private images with a password', async () => {
    const { address } = await start({ auth: htpasswd() });
    expect(await ask(address, 'mooring/demo:1', found)).to.deep.equal({ outcome: 'present', digest });
    expect(await ask(address, 'mooring/demo:2', found)).to.deep.equal(absent);
    expect(await ask(address, 'mooring/demo:1', none)).to.deep.equal({ outcome: 'login_required' });
    expect(await ask(address, 'mooring/demo:1', stranger)).to.deep.equal({ outcome: 'credential_refused' });
    const storeDown = await ask(address, 'mooring/demo:1', { kind: 'unavailable' });
    expect(storeDown).to.deep.equal({ outcome: 'credential_store_unavailable' });
  });

  it('finds private images with a token', async () => {
    tokens.serve = createTokenServer(certificates);
    const realm = `http://${tokens.host}/token`;
    const token = { realm, service: SERVICE, issuer: ISSUER, rootcertbundle: certificates.ca };
    const { address } = await start({ auth: { token } });
    const settings = { registryInsecure: [address, tokens.host], registryRealms: [`${address}=${tokens.host}`] };
    const check = (image: string, known: CredentialLookup) => ask(address, image, known, settings);

    expect(await check('mooring/demo:1', found)).to.deep.equal({ outcome: 'present', digest });
    expect(await check('mooring/demo:2', found)).to.deep.equal(absent);
    expect(await check('public/none:1', none)).to.deep.equal(absent);
    expect(await check('mooring/demo:1', none)).to.deep.equal({ outcome: 'login_required' });
    expect(await check('mooring/demo:1', stranger)).to.deep.equal({ outcome: 'credential_refused' });

    tokens.requests.length = 0;
    const unlisted = { registryInsecure: [address, tokens.host] };
    expect(await ask(address, 'mooring/demo:1', found, unlisted)).to.deep.equal(unreachable('realm'));
    expect(tokens.requests).to.have.lengthOf(0);
  });

  it('uses TLS with a registry whose certificate is valid', async () => {
    const { address } = await start({ tls: tls(), auth: htpasswd() });
    const port = address.split(':')[1]!;
    const trusted = (host: string) => ({ registryInsecure: [host], registryCaFile: certificates.ca });
    for (const host of [address, `registry.test:${port}`]) {
      const check = await ask(host, 'mooring/demo:1', found, trusted(host));
      expect(check, host).to.deep.equal({ outcome: 'present', digest });
    }
    const other = `other.test:${port}`;
    expect(await ask(other, 'mooring/demo:1', found, trusted(other))).to.deep.equal(unreachable('certificate'));
    expect(await ask(address, 'mooring/demo:1', found)).to.deep.equal(unreachable('certificate'));
  });

  it('never sends a password in clear text, whichever connection is cut', async () => {
    const { address } = await start({ tls: tls(), auth: htpasswd() });
    const heard: Buffer[] = [];
    let isCut = false;
    const between = await startByteServer(socket => {
      if (isCut) {
        socket.once('data', data => {
          heard.push(data);
          socket.destroy();
        });
        return;
      }
      const inside = connect(Number(address.split(':')[1]), '127.0.0.1');
      inside.on('error', () => undefined);
      socket.pipe(inside).pipe(socket);
    });
    const credentials: RegistryCredentials = {
      credentialsFor: () => {
        isCut = true;
        return Promise.resolve(found);
      },
    };
    const settings = { registryInsecure: [between.host], registryCaFile: certificates.ca };
    const check = await createChecker({ settings, credentials }).check(
      REGISTRY_TENANT,
      `${between.host}/mooring/demo:1`,
    );
    await between.stop();
    expect(check).to.deep.equal(unreachable('no_connection'));
    expect(heard.map(data => data[0])).to.deep.equal([0x16]); // the first byte of a TLS handshake, and of no HTTP
  });
});
