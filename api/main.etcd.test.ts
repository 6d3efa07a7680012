import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock, systemRandom } from '../pkg/clock/index.js';
import { EtcdProcess } from '../dev/processes/index.js';
import { clone } from '../pkg/version/index.js';

const moor = join(clone, 'moor');

describe('a process with a secrets keyring, on a real etcd', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let keyring: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moor-keyring-'));
    keyring = join(folder, 'secret-keys');
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    expect(await start('server')).to.equal('started');
  });
  after(async () => {
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts a process: `started` once it says so, else what it printed before it gave up. */
  const start = (process_: 'server' | 'controllers') =>
    new Promise<string>(resolve => {
      const env = {
        ...process.env,
        MOORING_ETCD_ENDPOINTS: etcd.endpoint,
        MOORING_LISTEN: '127.0.0.1:0',
        MOORING_KEY_FILE: join(folder, 'keys'),
      };
      const child = spawn(moor, [process_], { env });
      let printed = '';
      let hasStarted = false;
      const note = (chunk: Buffer) => {
        printed += chunk.toString();
        if (!printed.includes(`${process_} started`) || hasStarted) return;
        hasStarted = true;
        child.kill('SIGTERM');
      };
      child.stdout.on('data', note);
      child.stderr.on('data', note);
      child.once('close', code => resolve(hasStarted ? 'started' : `${code}: ${printed}`));
      systemClock.after(30_000, () => child.kill('SIGKILL'));
    });

  let kept: Buffer;
  beforeEach(() => {
    kept = readFileSync(keyring);
  });
  afterEach(() => {
    writeFileSync(keyring, kept, { mode: 0o600 });
    chmodSync(keyring, 0o600);
  });

  it('starts with the keyring that another process created', async () => {
    expect(await start('controllers')).to.equal('started');
  });

  for (const process_ of ['server', 'controllers'] as const) {
    it(`does not start without the keyring, creates none, and names the remedy (${process_})`, async () => {
      rmSync(keyring);
      expect(await start(process_))
        .to.match(/^1: /)
        .and.to.contain('cannot open the secrets: there is no keyring')
        .and.to.contain('docs/SECRETS.md');
      expect(existsSync(keyring)).to.equal(false);
    });
  }

  it('does not start with a different keyring', async () => {
    writeFileSync(keyring, `${systemRandom.bytes(32).toString('base64')}\n`);
    expect(await start('controllers'))
      .to.match(/^1: /)
      .and.to.contain('is not the right one');
  });

  it('does not start with a keyring file that others can read', async () => {
    chmodSync(keyring, 0o640);
    expect(await start('server'))
      .to.match(/^1: /)
      .and.to.contain('chmod 600');
  });
});
