import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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
/** The programs that are needed, and the Debian packages that have them. */
const PROGRAMS: Readonly<Record<string, string>> = {
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  ip: 'iproute2',
  losetup: 'mount',
  curl: 'curl',
  dpkg: 'dpkg',
  'apt-get': 'apt',
  systemctl: 'systemd',
};
const INSTALL = 'apt-get install';
/** Those whose units the pages use. */
const PACKAGES = ['etcd-server', 'docker.io', 'docker-registry'];
/** Names of control groups and folders begin with this; the process id follows, as what a killed run left is told by it. */
const PREFIX = 'mooring-machine-';

/** Why no machine can be started here; undefined where one can. */
export function explainNoMachine(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root: run the tests with sudo, or as root in a virtual machine';
  const absent = Object.keys(PROGRAMS).find(program => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  if (absent !== undefined) return `${absent} is missing: ${INSTALL} ${PROGRAMS[absent]}`;
  if (spawnSync('/lib/systemd/systemd', ['--version']).status !== 0) return `systemd is missing: ${INSTALL} systemd`;
  const uninstalled = PACKAGES.find(name => readPackageVersion(name) === undefined);
  if (uninstalled !== undefined) return `the Debian package ${uninstalled} is not installed: ${INSTALL} ${uninstalled}`;
  const [, major = 0] = /^(?:\d+:)?(\d+)\./.exec(readPackageVersion('nodejs') ?? '') ?? [];
  if (Number(major) < 20)
    return `Node.js 20 is not installed as a Debian package: ${INSTALL} nodejs, on Debian 13 or later`;
  sweep();
  const name = `${PREFIX}${process.pid}-probe`;
  const tried = spawnSync('sh', ['-c', BOOT, 'sh', name, 'true'], { encoding: 'utf8' });
  spawnSync('sh', ['-c', END, 'sh', name]);
  return tried.status === 0
    ? undefined
    : `namespaces and control groups cannot be made (${tried.stderr.trim()}): run it on a machine of its own, or in a container that is started with --privileged --cgroupns=host`;
}

/** The version of a Debian package that is installed here. */
function readPackageVersion(name: string): string | undefined {
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f=${Status} ${Version}', name], { encoding: 'utf8' });
  return /^install ok installed (\S+)$/.exec(stdout)?.[1];
}

/** Removes the folders and control groups of test processes that are gone; the machines ended with them. */
function sweep(): void {
  const isLeft = (name: string) => {
    const pid = name.startsWith(PREFIX) && /^\d+(?=-)/.exec(name.slice(PREFIX.length))?.[0];
    return pid && !existsSync(`/proc/${pid}`);
  };
  for (const name of readdirSync(tmpdir()).filter(isLeft))
    rmSync(join(tmpdir(), name), { recursive: true, force: true });
  const mounts = readFileSync('/proc/self/mounts', 'utf8').matchAll(/^\S+ (\S+) cgroup2? /gm);
  const groups = new Set(Array.from(mounts, ([, place]) => readdirSync(place!).filter(isLeft)).flat());
  for (const group of groups) spawnSync('sh', ['-c', END, 'sh', group]);
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
  #hasEnded = false;
  #pid = 0;

  constructor(name: string) {
    this.name = name;
    this.#group = `${PREFIX}${process.pid}-${name}`;
    this.#folder = mkdtempSync(join(tmpdir(), `${this.#group}-`));
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
    launcher.once('close', () => (this.#hasEnded = true));
    await until(`${this.name} to boot`, async () => this.#hasEnded || (await this.#isBooted(launcher)), 120_000);
    if (this.#hasEnded) throw new Error(`${this.name} did not boot: ${printed}`);
    return this;
  }

  /** Before systemd has taken over, the child is a script that still sees the files of this machine: nothing may be run there. */
  async #isBooted({ pid }: ChildProcess): Promise<boolean> {
    const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
    if (readFileSync(`/proc/${child}/comm`, 'utf8') !== 'systemd\n') return false;
    this.#pid = child;
    return (await this.run('systemctl is-system-running')).status === 0;
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
    try {
      if (this.#pid > 0 && !this.#hasEnded) await this.run(DETACH);
      this.#launcher?.kill('SIGKILL');
      if (this.#launcher) await until(`${this.name} to end`, () => this.#hasEnded);
    } finally {
      spawnSync('sh', ['-c', END, 'sh', this.#group]);
      rmSync(this.#folder, { recursive: true, force: true });
    }
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
