import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { until } from '../../dev/testing/index.js';
import { clone } from '../../pkg/version/index.js';
import { BOOT, DETACH, END, ENTER } from './systemd-machine-scripts.js';

/** What a command came to. */
export interface MachineResult {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

const PATIENCE_MS = 240_000;
const PROGRAMS = 'unshare nsenter setpriv ip losetup curl dpkg apt-get systemctl etcd dockerd docker-registry'.split(
  ' ',
);

/** Why no machine can be started here; undefined where one can. */
export function explainNoMachine(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root';
  const absent = PROGRAMS.find(program => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  if (absent !== undefined) return `${absent} is missing`;
  if (spawnSync('/lib/systemd/systemd', ['--version']).status !== 0) return 'systemd is missing';
  const node = spawnSync('dpkg-query', ['-W', '-f=${Status} ${Version}', 'nodejs'], { encoding: 'utf8' }).stdout;
  const [, major = 0] = /^install ok installed (?:\d+:)?(\d+)\./.exec(node ?? '') ?? [];
  if (Number(major) < 20) return 'Node.js 20 is no Debian package here';
  const folder = mkdtempSync(join(tmpdir(), 'mooring-machine-'));
  const name = `mooring-probe-${process.pid}`;
  const tried = spawnSync('sh', ['-c', BOOT, 'sh', name, 'true'], { cwd: folder, encoding: 'utf8' });
  spawnSync('sh', ['-c', END, 'sh', name]);
  rmSync(folder, { recursive: true, force: true });
  return tried.status === 0 ? undefined : `namespaces and control groups cannot be made (${tried.stderr.trim()})`;
}

/**
 * A Debian machine with systemd as its first process, in namespaces of its own: this machine as it is installed, with changes that
 * only the new one sees, without the clone, and with nothing enabled.
 */
export class SystemdMachine {
  readonly name: string;
  readonly #folder: string;
  readonly #group: string;
  #launcher: ChildProcess | undefined;
  #pid = 0;

  constructor(name: string) {
    this.name = name;
    this.#folder = mkdtempSync(join(tmpdir(), `mooring-machine-${name}-`));
    this.#group = `mooring-machine-${process.pid}-${name}`;
  }

  /** The first process of the machine, as this one sees it. */
  get pid(): number {
    return this.#pid;
  }

  /** Boots it and waits until everything that it starts by itself has been started. */
  async start(): Promise<this> {
    mkdirSync(join(this.#folder, 'space'));
    const env = { PATH: process.env['PATH'], LAB: this.#folder, CLONE: clone, NAME: this.name };
    const argv = ['--pdeathsig', 'KILL', 'sh', '-c', BOOT, 'sh', this.#group, 'sh', '-c', ENTER];
    const launcher = spawn('setpriv', argv, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#launcher = launcher;
    let printed = '';
    for (const stream of [launcher.stdout, launcher.stderr]) stream.on('data', chunk => (printed += String(chunk)));
    const isBooted = async () => {
      if (launcher.exitCode !== null) throw new Error(`${this.name} did not boot: ${printed}`);
      this.#pid = Number(readFileSync(`/proc/${launcher.pid}/task/${launcher.pid}/children`, 'utf8').trim());
      return (await this.run('systemctl is-system-running')).status === 0;
    };
    await until(`${this.name} to boot`, isBooted, 120_000);
    return this;
  }

  /** Runs a script of the shell on it, as its administrator. */
  run(script: string, input: Buffer | string = ''): Promise<MachineResult> {
    const environment = ['PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'DEBIAN_FRONTEND=noninteractive'];
    const argv = ['-t', String(this.#pid), '-m', '-u', '-i', '-n', '-p', '-C'];
    return new Promise(resolve => {
      const child = execFile(
        'nsenter',
        [...argv, 'env', '-i', ...environment, 'NO_COLOR=1', 'sh', '-c', `cd /root && ${script}`],
        { timeout: PATIENCE_MS },
        (error, out, err) => resolve({ status: error ? Number(error.code ?? 1) : 0, out, err }),
      );
      child.stdin?.on('error', () => undefined); // it ended without reading
      child.stdin?.end(input);
    });
  }

  /** Writes a file on it. */
  put(path: string, content: Buffer | string): Promise<MachineResult> {
    return this.run(`mkdir -p "$(dirname ${path})" && cat >${path}`, content);
  }

  /** Ends every process of it; its changes go with it. Loop devices are of the kernel, and go with the last that uses them. */
  async stop(): Promise<void> {
    if (this.#pid > 0) await this.run(DETACH);
    this.#launcher?.kill('SIGKILL');
    if (this.#launcher) await until(`${this.name} to end`, () => this.#launcher?.signalCode !== null);
    spawnSync('sh', ['-c', END, 'sh', this.#group]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A wire between two machines: each has its address on `eth0`. */
export function wire(one: readonly [SystemdMachine, string], other: readonly [SystemdMachine, string]): void {
  const end = ([machine]: readonly [SystemdMachine, string]) => ['eth0', 'netns', String(machine.pid)];
  execFileSync('ip', ['link', 'add', ...end(one), 'type', 'veth', 'peer', 'name', ...end(other)]);
  for (const [{ pid }, address] of [one, other]) {
    const script = `ip address add ${address}/24 dev eth0 && ip link set eth0 up && ip link set lo up`;
    execFileSync('nsenter', ['-t', String(pid), '-n', 'sh', '-c', script]);
  }
}
