import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { EtcdProcess, isFreePort } from '../../dev/processes/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { loadSettings } from '../../pkg/config/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { create, openEtcdStore } from '../../pkg/store/index.js';

interface ServerRecord {
  readonly process: { readonly pid: number };
  readonly facts: { readonly server: string; readonly serverPort: string };
}

/** The tokens of a tenant, as a stranger would rewrite them: base64, as the JSON gateway wants it. */
const PUT = JSON.stringify({ key: btoa('/mooring/tokens/x'), value: btoa('{}') });

describe('the all-in-one, attacked from the machine that it runs on', function () {
  this.timeout(180_000);

  const home = mkdtempSync(join(tmpdir(), 'mooring-attacked-'));
  const path = (...names: readonly string[]) => join(home, ...names);
  const moor = async (...words: readonly string[]): Promise<string> => {
    const environment = { ...process.env, MOORING_HOME: home };
    return (await promisify(execFile)(resolve('moor'), words, { env: environment })).stdout;
  };
  const env = { clock: systemClock, random: systemRandom, log: silentLogger };
  let etcd: { host: string; port: string };

  before(async () => {
    // The home of an earlier version, whose etcd let everybody in.
    const earlier = await EtcdProcess.start({ dataDir: path('etcd') });
    const store = openEtcdStore({ ...earlier.access, etcdPrefix: '/earlier/' }, env);
    await create(store, 'a', { kept: true });
    await store.close();
    await earlier.kill();

    await moor('up', '--engine', 'simulated', '--no-demo');
    const { facts } = JSON.parse(readFileSync(path('run', 'part-etcd.json'), 'utf8')) as { facts: { etcd: string } };
    const { hostname: host, port } = new URL(facts.etcd);
    etcd = { host, port };
  });
  after(async () => {
    await moor('down', '--purge');
    rmSync(home, { recursive: true, force: true });
  });

  /** Sends a request to etcd over TLS, with the certificate of this home or without one. */
  const ask = (method: string, url: string, certificate: 'own' | 'none', headers = {}, body?: string) => {
    const read = (name: string) => readFileSync(path('certificates', 'etcd', name));
    const own = certificate === 'own' ? { cert: read('mooring.pem'), key: read('mooring.key') } : {};
    const agent = new Agent({ ca: read('ca.pem'), ...own });
    return new Promise<{ status: number; allowed: string | undefined }>((done, fail) => {
      const sent = request({ ...etcd, path: url, method, headers, agent }, answer => {
        answer.resume();
        const allowed = answer.headers['access-control-allow-origin'];
        answer.once('end', () => done({ status: answer.statusCode ?? 0, allowed }));
      });
      sent.once('error', fail);
      sent.end(body);
    });
  };

  it('does not serve etcd without TLS', async () => {
    const url = `http://${etcd.host}:${etcd.port}/v3/kv/put`;
    const answer = await fetch(url, { method: 'POST', body: PUT }).catch(() => undefined);

    expect([undefined, 400]).to.include(answer?.status);
  });

  it('does not serve etcd without a client certificate', async () => {
    for (const url of ['/v3/kv/put', '/health', '/metrics', '/version'])
      expect(await ask('POST', url, 'none', {}, PUT).catch(() => 'refused'), url).to.equal('refused');
  });

  it('has no JSON gateway, not even for a client with a certificate', async () => {
    for (const url of ['/v3/kv/put', '/v3/kv/range', '/v3beta/kv/range', '/v3alpha/kv/range', '/v2/keys'])
      expect(await ask('POST', url, 'own', {}, PUT), url).to.include({ status: 404 });
  });

  it('lets no page of another origin read an answer of etcd', async () => {
    const { allowed } = await ask('GET', '/version', 'own', { origin: 'http://attacker.example' });

    expect(allowed).to.equal(undefined);
  });

  it('leaves the port of the API server to no other program, and no connection unanswered, while it restarts', async () => {
    const record = () => JSON.parse(readFileSync(path('run', 'part-server.json'), 'utf8')) as ServerRecord;
    const { process: killed, facts } = record();
    const port = Number(facts.serverPort);
    process.kill(killed.pid, 'SIGKILL');
    let wasFree = false;
    while (record().process.pid === killed.pid) {
      const [answer, isFree] = await Promise.all([fetch(`${facts.server}/readyz`), isFreePort(port)]);
      await answer.arrayBuffer();
      wasFree ||= isFree;
    }

    expect(wasFree).to.equal(false);
    expect(record().facts).to.deep.equal(facts);
  });

  it('gives no container a port that it listens on itself', async () => {
    for (const name of ['server', 'etcd']) {
      const { facts } = JSON.parse(readFileSync(path('run', `part-${name}.json`), 'utf8')) as { facts: object };
      for (const [key, hostPort] of Object.entries(facts).filter(([key]) => key.endsWith('Port'))) {
        const ports = [{ containerPort: 80, hostPort: Number(hostPort) }];
        const document = { kind: 'Deployment', name: 'thief', image: 'registry.example.com/thief:1.0.0', ports };
        writeFileSync(path('thief.json'), JSON.stringify(document));
        const refused = await moor('apply', '-f', path('thief.json')).catch(({ stderr }: { stderr: string }) => stderr);
        expect(refused, key).to.contain('host_port_reserved').and.to.contain('ports[0].hostPort');
      }
    }
    expect(await moor('get', 'deployments', '-o', 'name')).to.equal('');
  });

  it('keeps every key and certificate to its owner', () => {
    const folder = path('certificates', 'etcd');

    expect(statSync(folder).mode & 0o777).to.equal(0o700);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777, name).to.equal(0o600);
  });

  it('keeps the data of a version that let everybody in', async () => {
    const { settings } = loadSettings({ environment: { MOORING_CONFIG: path('settings.json') } });
    const store = openEtcdStore({ ...settings, etcdPrefix: '/earlier/' }, env);
    try {
      expect((await store.list('')).entries.map(({ key }) => key)).to.deep.equal(['a']);
    } finally {
      await store.close();
    }
  });

  it('lets an administrator use etcd with the settings of this home', async () => {
    await moor('admin', 'rekey', '--config', path('settings.json'));
  });
});
