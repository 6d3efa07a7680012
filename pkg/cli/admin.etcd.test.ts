import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';

import { expect } from 'chai';

import { EtcdProcess, findFreePort } from '../../dev/processes/index.js';
import { itDeep, until } from '../../dev/testing/index.js';
import { clone } from '../version/index.js';

interface ProgramOutcome {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

describe('moor admin: a control plane from its certificates to its restore', function () {
  this.timeout(240_000);

  const folder = mkdtempSync(join(tmpdir(), 'moor-admin-'));
  const at = (...names: readonly string[]) => join(folder, ...names);
  const environment = { ...process.env, MOORING_HOME: folder, HOME: folder };
  const certificates = ['--folder', at('certificates')];
  let etcd: EtcdProcess;
  let server: ChildProcess | undefined;
  let url: string;
  let settings: readonly string[];

  const moor = (words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<ProgramOutcome> =>
    new Promise(resolve => {
      execFile(join(clone, 'moor'), words, { env: { ...environment, ...more } }, (error, out, err) =>
        resolve({ status: error ? Number(error.code) : 0, out, err }),
      );
    });
  const admin = (...words: readonly string[]) => moor(['admin', ...words]);
  const done = async (...words: readonly string[]): Promise<string> => {
    const { status, out, err } = await admin(...words);
    expect(status, err).to.equal(0);
    return out;
  };
  const readSerial = async (port: number): Promise<string> => {
    const ca = readFileSync(at('certificates/server/ca.pem'));
    const socket = connect({ host: '127.0.0.1', port, ca });
    await once(socket, 'secureConnect');
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  };

  /** etcdctl 3.6 saves snapshots, and cannot say what is in one: it prints its help. */
  const backsUpWithToolsOfEtcd36 = async () => {
    const tools = mkdtempSync(at('tools-'));
    const newer =
      '#!/bin/sh\n[ "$1 $2" != "snapshot status" ] || { echo Usage; exit 0; }\nexec /usr/bin/etcdctl "$@"\n';
    writeFileSync(join(tools, 'etcdctl'), newer, { mode: 0o755 });
    const path = { PATH: `${tools}:${process.env['PATH']}` };
    const unchecked = await moor(['admin', 'backup', at('newer.db'), ...settings], path);
    expect([unchecked.status, existsSync(at('newer.db'))], unchecked.err).to.deep.equal([4, false]);
    expect(unchecked.err).to.contain('install etcdutl');
    writeFileSync(join(tools, 'etcdutl'), '#!/bin/sh\nexec /usr/bin/etcdctl "$@"\n', { mode: 0o755 });
    const checked = await moor(['admin', 'backup', at('newer.db'), ...settings], path);
    expect(checked.out, checked.err).to.match(/saved: .*newer\.db, revision \d+/);
  };

  before(async () => {
    await done('certs', 'etcd', ...certificates, '--name', 'etcd', '--host', '127.0.0.1', '--host', 'localhost');
    await done('certs', 'client', ...certificates);
    const issued = statSync(at('certificates/etcd/etcd.pem')).mtimeMs;
    etcd = await EtcdProcess.start({ dataDir: at('data'), certificates: at('certificates/etcd') });
    expect(statSync(at('certificates/etcd/etcd.pem')).mtimeMs).to.equal(issued); // they serve as they are
    settings = ['--config', at('server.yaml')];
  });
  after(async () => {
    server?.kill('SIGKILL');
    await etcd?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('issues certificates that a server and etcd are run with, and says how', async () => {
    const port = await findFreePort();
    const tls = await done('certs', 'server', ...certificates, '--host', '127.0.0.1', '--host', 'mooring.example.org');
    expect(tls.match(/^\w+: /gm)).to.deep.equal(['tlsCertFile: ', 'tlsKeyFile: ', 'tlsCaFile: ']);
    const client = await done('certs', 'client', ...certificates);
    const lines = [`listen: 127.0.0.1:${port}`, `etcdEndpoints: [${etcd.endpoint}]`, `keyFile: ${at('keys')}`];
    writeFileSync(at('server.yaml'), [...lines, client, tls].join('\n'));
    server = spawn(join(clone, 'moor'), ['server', ...settings], { stdio: 'ignore' });
    url = `https://127.0.0.1:${port}`;

    const first = await until('the server to serve', () => readSerial(port));
    const listed = await done('certs', 'list', ...certificates);
    expect(listed).to.match(/server\/server +127\.0\.0\.1,mooring\.example\.org|mooring\.example\.org,127\.0\.0\.1/);
    expect(listed)
      .to.match(/etcd\/mooring +- +client/)
      .and.not.contain('renew it');
    expect(await done('certs', 'renew', ...certificates)).to.equal('nothing is due\n');

    expect(await done('certs', 'renew', '--all', ...certificates)).to.equal(
      'server/server renewed\netcd/etcd renewed\netcd/mooring renewed\n',
    );
    await until('the new certificate without a restart', async () => (await readSerial(port)) !== first);
  });

  it('refuses what it cannot do, and makes nothing', async () => {
    const missing = await admin('certs', 'renew', '--folder', at('nowhere'));
    expect([missing.status, existsSync(at('nowhere'))]).to.deep.equal([2, false]);
    for (const name of ['ca', 'mooring', '../x', 'Ümlaut']) {
      const refused = await admin('certs', 'etcd', ...certificates, '--name', name, '--host', 'a');
      expect(refused.status, name).to.equal(2);
    }
    expect((await admin('certs', 'server', ...certificates, '--host', 'not a host')).err).to.contain('not a host');
  });

  it('makes no administrator with keys that no server has', async () => {
    const refused = await admin('bootstrap', '--etcd-endpoints', etcd.endpoint, '--key-file', at('nowhere/keys'));
    expect([refused.status, refused.out, existsSync(at('nowhere'))]).to.deep.equal([2, '', false]);
    expect(refused.err).to.contain(`there is no key file ${at('nowhere/keys')}: start a server first`);
  });

  it('makes the first administrator, whom the server knows, and no second one by accident', async () => {
    const token = (await done('bootstrap', ...settings)).trim();
    const again = await admin('bootstrap', ...settings);
    expect([again.status, again.out]).to.deep.equal([1, '']);
    expect(again.err).to.contain('--another').and.not.contain(token);

    const more = { MOORING_SERVER: url, MOORING_TOKEN: token, MOORING_CA_FILE: at('certificates/server/ca.pem') };
    const created = await moor(['tenants', 'create', 'acme'], more);
    expect(created.status, created.err).to.equal(0);
    writeFileSync(at('token'), token);
    expect((await moor(['tenants', 'list'], more)).out).to.contain('acme');
  });

  itDeep('waits for the keys of a server that was just started', async () => {
    const words = ['admin', 'bootstrap', '--wait', ...settings, '--key-file', at('later')];
    const waiting = spawn(join(clone, 'moor'), words, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
    let err = '';
    waiting.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    const ended = once(waiting, 'close');
    await until('it to have found no keys', () => err.includes(`waiting for the key file ${at('later')}`));
    copyFileSync(at('keys'), at('.later'));
    renameSync(at('.later'), at('later'));
    expect((await ended)[0], err).to.equal(1);
    expect(err).to.contain('there is an administrator already');
  });

  it('backs etcd up, lays the backup out, and declares it, and what was written since is gone', async () => {
    const saved = await done('backup', at('backup.db'), ...settings);
    expect(saved).to.match(/saved: .*backup\.db, revision \d+, \d+ keys/);
    expect((await admin('backup', at('backup.db'), ...settings)).err).to.contain('exists already');
    await backsUpWithToolsOfEtcd36();
    const more = {
      MOORING_SERVER: url,
      MOORING_TOKEN_FILE: at('token'),
      MOORING_CA_FILE: at('certificates/server/ca.pem'),
    };
    expect((await moor(['tenants', 'create', 'later'], more)).status).to.equal(0);

    await etcd.kill();
    const occupied = await admin('restore', '--from', at('backup.db'), '--data-dir', at('data'));
    expect([occupied.status, existsSync(at('data'))]).to.deep.equal([2, true]);
    const printed = await done('restore', '--from', at('backup.db'), '--data-dir', at('restored'));
    expect(printed).to.contain('moor admin restore');
    const clientPort = etcd.port;
    etcd = await EtcdProcess.start({ dataDir: at('restored'), certificates: at('certificates/etcd'), clientPort });
    expect(await done('restore', '--preview', ...settings)).to.contain('Nothing was declared');
    expect(await done('restore', ...settings)).to.contain('the restore is declared');

    await until('the server to show the restored state', async () => {
      const { out } = await moor(['tenants', 'list'], more);
      return out.includes('acme') && !out.includes('later');
    });
  });

  itDeep('says which member gave no snapshot, and leaves no file', async () => {
    const failed = await admin(
      'backup',
      at('second.db'),
      '--config',
      at('server.yaml'),
      '--etcd-endpoints',
      'https://127.0.0.1:1',
    );
    expect([failed.status, existsSync(at('second.db')), existsSync(at('second.db.part'))]).to.deep.equal([
      4,
      false,
      false,
    ]);
    expect(failed.err).to.contain('127.0.0.1:1');
  });
});
