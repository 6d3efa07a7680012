import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { skip, until } from '../../dev/testing/index.js';
import { listPids, readProc } from '../../up/machine/process-stat.js';
import { listLoopDevices } from '../../pkg/agent/volumes/mounts.js';

/** What a run of tests may leave when it is killed. */
const BUSY = `
sleep 86399 &
truncate -s 1M "$TMPDIR/image"
losetup --find "$TMPDIR/image"
mkdir "$TMPDIR/mounted"
mount -t tmpfs tmpfs "$TMPDIR/mounted"
ip netns add apart
ip link add killed-run type bridge
touch "$TMPDIR/ready"
sleep 86399`;

/** A process with mounts of its own, as members of etcd in networks of their own are: answers what it has of a mount that was taken down. */
const APART = `
mkdir "$TMPDIR/mounted"
mount -t tmpfs tmpfs "$TMPDIR/mounted"
ip netns add apart
ip netns exec apart sleep 86399 &
until [ "$(cat /proc/$!/comm)" = sleep ]; do sleep 0.01; done
grep -o mounted /proc/$!/mountinfo
umount "$TMPDIR/mounted"
grep -o mounted /proc/$!/mountinfo
kill $!`;

describe('what runs in the sandbox', function () {
  let folder: string;
  beforeEach(function () {
    if (process.getuid?.() !== 0) skip(this, 'it needs root, run the tests as root');
    folder = mkdtempSync(join(tmpdir(), 'mooring-sandbox-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const environment = () => ({ ...process.env, TMPDIR: folder });
  const sandbox = (...command: readonly string[]) =>
    spawnSync('sh', ['hack/sandbox.sh', ...command], { env: environment(), encoding: 'utf8' });
  const ownFolders = () => readdirSync(folder).map(name => join(folder, name));
  const ownDevices = async () => (await listLoopDevices()).filter(({ file }) => file.startsWith(folder));

  it('has its status passed on, a folder of its own while it runs, and none afterwards', () => {
    const { status, stdout } = sandbox('sh', '-c', 'ls -d "$TMPDIR"; exit 7');
    expect(status).to.equal(7);
    expect(stdout).to.match(/mooring-run-\d+-\d+\n$/);
    expect(ownFolders()).to.deep.equal([]);
  });

  it('keeps no disk busy in the mounts of a process, when it was unmounted', () => {
    expect(sandbox('sh', '-c', APART).stdout).to.equal('mounted\n');
  });

  it('leaves nothing for the next run when whoever started it is killed', async () => {
    // The shell stays as the parent because it has more to do.
    const argv = ['-c', 'sh hack/sandbox.sh sh -c "$0"; true', BUSY];
    const starter = spawn('sh', argv, { env: environment(), stdio: 'ignore' });
    await until('it to be busy', () => ownFolders().some(path => existsSync(join(path, 'ready'))));
    expect(await ownDevices()).to.have.length(1);
    starter.kill('SIGKILL');

    const isGone = () => !listPids().some(pid => readProc(`${pid}/cmdline`).startsWith('sleep\0' + '86399'));
    await until('its processes to be gone', isGone);
    expect(readFileSync('/proc/mounts', 'utf8')).not.to.include(folder);
    expect(execFileSync('ip', ['-brief', 'link'], { encoding: 'utf8' })).not.to.include('killed-run');
    expect(execFileSync('ip', ['netns'], { encoding: 'utf8' })).not.to.include('apart');

    expect(sandbox('true').status).to.equal(0);
    expect(ownFolders()).to.deep.equal([]);
    expect(await ownDevices()).to.deep.equal([]);
  });

  it('leaves nothing at all when it is told to end', async () => {
    const running = spawn('sh', ['hack/sandbox.sh', 'sh', '-c', BUSY], { env: environment(), stdio: 'ignore' });
    await until('it to be busy', () => ownFolders().some(path => existsSync(join(path, 'ready'))));
    const ended = new Promise(resolve => running.once('exit', resolve));
    running.kill('SIGTERM');
    await ended;
    expect(ownFolders()).to.deep.equal([]);
    await until('its device to be given back', async () => (await ownDevices()).length === 0);
  });

  it('leaves the folder of a run that still goes on alone', async () => {
    const running = spawn('sh', ['hack/sandbox.sh', 'sh', '-c', 'touch "$TMPDIR/ready"; sleep 86399'], {
      env: environment(),
      stdio: 'ignore',
    });
    await until('it to run', () => ownFolders().some(path => existsSync(join(path, 'ready'))));
    sandbox('true');
    expect(ownFolders()).to.have.length(1);
    const ended = new Promise(resolve => running.once('exit', resolve));
    running.kill('SIGKILL');
    await ended;
  });
});
