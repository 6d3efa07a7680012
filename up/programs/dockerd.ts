import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

import { listAddressPools } from './address-pools.js';
import { clearEngine, isEngineAnswering } from './engine-socket.js';
import { readCommandLine, endProcess, sweepEngine } from './engine-sweep.js';
import { isForwardDropped, separateNetworks } from './firewall.js';
import { ProcessStartFault } from './faults.js';
import { awaitServing, runProgram } from './program.js';

const SERVES_WITHIN_MS = 60_000;
const STOPS_WITHIN_MS = 30_000;

/** Sockets must have short names: 108 bytes, of which containerd's own takes 32. */
const LONGEST_RUN_DIR = 60;

export interface DockerdOptions {
  /** Everything the engine keeps is in here. */
  readonly folder: string;
  /** Containers go on while the daemon is away, and are still there when it is back. */
  readonly liveRestore?: boolean;
  /**
   * Lets the engine write firewall rules. Two engines of one machine that do so undo some of each other's, so a private
   * engine leaves the firewall to us, unless the machine drops what no rule lets through.
   */
  readonly firewall?: boolean;
  /** Lets the engine outlive this process. */
  readonly detached?: boolean;
  readonly arguments?: readonly string[];
}

/**
 * A Docker Engine of our own, with its own containerd, beside whatever else runs on the machine.
 *
 * It needs root, and neither systemd nor a particular file system: the engine itself falls back from overlay2 to vfs.
 */
export class DockerdProcess {
  readonly #options: DockerdOptions;
  readonly #runDir: string;
  #child: ChildProcess | undefined;
  #pid: number | undefined;
  #separates = false;

  private constructor(options: DockerdOptions) {
    this.#options = options;
    const inside = join(options.folder, 'run');
    const digest = createHash('sha256').update(options.folder).digest('hex').slice(0, 12);
    this.#runDir = inside.length <= LONGEST_RUN_DIR ? inside : join(tmpdir(), `mooring-${digest}`);
  }

  /** Starts the engine, or takes over the one that an earlier process has left running in this folder. */
  static async start(options: DockerdOptions): Promise<DockerdProcess> {
    const dockerd = new DockerdProcess(options);
    await dockerd.restart();
    return dockerd;
  }

  /** Where it listens, in the form that `DOCKER_HOST` takes. */
  get host(): string {
    return `unix://${this.#socket}`;
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  /** Whether containers of different networks cannot reach each other. Where they can, none reaches the outside either. */
  get separates(): boolean {
    return this.#separates;
  }

  get logFile(): string {
    return join(this.#options.folder, 'dockerd.log');
  }

  /** Starts it again on the same data, after `kill` or `stop`. */
  async restart(): Promise<void> {
    const { folder, detached = false } = this.#options;
    await mkdir(folder, { recursive: true });
    await mkdir(this.#runDir, { recursive: true, mode: 0o711 });
    const firewall = this.#options.firewall ?? (await isForwardDropped());
    this.#separates = firewall || (await separateNetworks());
    const running = await this.#runningPid();
    if (running !== undefined && (await isEngineAnswering(this.#socket))) {
      this.#pid = running;
      return;
    }
    await rm(this.#pidFile, { force: true });
    await this.#forgetContainerd();
    // The file replaces the machine's own, which may name other folders.
    const settings = { 'default-address-pools': listAddressPools(folder) };
    await writeFile(join(folder, 'daemon.json'), JSON.stringify(settings));

    const child = runProgram('dockerd', this.#arguments(firewall), { logFile: this.logFile, detached });
    this.#child = child;
    this.#pid = child.pid;
    const limits = { withinMs: SERVES_WITHIN_MS, logFile: this.logFile };
    await awaitServing(child, () => isEngineAnswering(this.#socket), limits);
  }

  /** Ends the daemon and nothing else: with SIGKILL, its containers go on until it comes back. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.#end(signal, STOPS_WITHIN_MS);
  }

  /** Ends the engine and all its containers in good order. They can be started again later. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM', STOPS_WITHIN_MS);
    await sweepEngine(this.#places);
  }

  /** Ends the engine and removes every trace of it: containers, networks, mounts, files. */
  async destroy(): Promise<void> {
    await this.restart().catch(() => undefined); // a daemon that is away cannot take down its networks
    await clearEngine(this.#socket).catch(() => undefined);
    await this.stop();
    await rm(this.#runDir, { recursive: true, force: true });
    await rm(this.#options.folder, { recursive: true, force: true });
  }

  get #socket(): string {
    return join(this.#runDir, 'docker.sock');
  }

  get #pidFile(): string {
    return join(this.#runDir, 'docker.pid');
  }

  get #places(): { readonly data: string; readonly run: string } {
    return { data: join(this.#options.folder, 'data'), run: this.#runDir };
  }

  async #end(signal: NodeJS.Signals, withinMs: number): Promise<void> {
    const pid = await this.#runningPid();
    if (pid === undefined) return;
    process.kill(pid, signal);
    const deadline = performance.now() + withinMs;
    while ((await this.#runningPid()) !== undefined) {
      if (performance.now() > deadline) process.kill(pid, 'SIGKILL');
      if (performance.now() > deadline + withinMs) throw new ProcessStartFault(`dockerd does not end: ${pid}`);
      await pause(50);
    }
  }

  /** The daemon of this folder, if it runs: a number in a file may by now be another process's. */
  async #runningPid(): Promise<number | undefined> {
    const own = this.#child?.pid;
    const written = Number(await readFile(this.#pidFile, 'utf8').catch(() => ''));
    for (const pid of [own, written]) {
      if (!pid) continue;
      if ((await readCommandLine(pid)).split('\0').includes(`--data-root=${this.#places.data}`)) return pid;
    }
    return undefined;
  }

  /**
   * Its containerd dies with the daemon, but a moment later. The engine takes one that is dying, or a zombie that
   * is not collected, for one that is still starting.
   */
  async #forgetContainerd(): Promise<void> {
    const file = join(this.#runDir, 'exec/containerd/containerd.pid');
    const pid = Number(await readFile(file, 'utf8').catch(() => ''));
    const deadline = performance.now() + STOPS_WITHIN_MS;
    while ((await readCommandLine(pid)).includes(this.#runDir)) {
      if (performance.now() > deadline) throw new ProcessStartFault(`containerd does not end: ${pid}`);
      endProcess(pid);
      await pause(20);
    }
    await rm(file, { force: true });
  }

  #arguments(firewall: boolean): string[] {
    const { folder, liveRestore = false } = this.#options;
    return [
      `--config-file=${join(folder, 'daemon.json')}`,
      `--data-root=${this.#places.data}`,
      `--exec-root=${join(this.#runDir, 'exec')}`,
      `--pidfile=${this.#pidFile}`,
      `--host=${this.host}`,
      '--bridge=none',
      `--iptables=${firewall}`,
      ...(liveRestore ? ['--live-restore'] : []),
      ...(this.#options.arguments ?? []),
    ];
  }
}
