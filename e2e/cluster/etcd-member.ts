import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface EtcdMemberOptions {
  readonly number: number;
  readonly address: string;
  readonly clientPort: number;
  readonly peerPort: number;
  /** Where its data and its log are kept. */
  readonly folder: string;
}

/** etcd ends with us, however we end. */
const END_WITH_US = spawnSync('setpriv', ['--version']).status === 0 ? ['setpriv', '--pdeathsig', 'KILL'] : [];

/** Room for a member to start in, on a small disk: it lays out two files of 64 MB for its log. */
const ROOM_BYTES = 192 << 20;
const BALLAST = 'ballast';

/** The process of one member, which can be ended, frozen and started again on its data. */
export class EtcdMember {
  readonly name: string;
  readonly address: string;
  readonly clientPort: number;
  readonly clientUrl: string;
  readonly peerUrl: string;
  readonly dataDir: string;
  readonly logFile: string;
  #child: ChildProcess | undefined;
  /** strace, which spoils the calls by which the member keeps its data. */
  #tracer: ChildProcess | undefined;
  #isOnSmallDisk = false;
  readonly #unmount = () => spawnSync('umount', ['--lazy', this.dataDir]);

  constructor({ number, address, clientPort, peerPort, folder }: EtcdMemberOptions) {
    this.name = `member${number}`;
    this.address = address;
    this.clientPort = clientPort;
    this.clientUrl = `https://${address}:${clientPort}`;
    this.peerUrl = `https://${address}:${peerPort}`;
    this.dataDir = join(folder, `data${number}`);
    this.logFile = join(folder, `${this.name}.log`);
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  launch(command: readonly string[]): void {
    const argv = [...END_WITH_US, ...command];
    const log = openSync(this.logFile, 'a');
    const child = spawn(argv[0]!, argv.slice(1), {
      env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const end = () => child.kill('SIGKILL');
    process.once('exit', end);
    child.once('exit', () => process.off('exit', end));
    child.on('error', () => undefined); // seen as a process that does not run
    this.#child = child;
  }

  /** Ends it and waits until it is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (!this.#child || !this.isRunning) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    this.#child.kill('SIGCONT'); // a frozen process would not hear of it
    await ended;
    await this.repairDisk();
  }

  /** Freezes the process: it keeps its connections and answers nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Spoils every fsync of the process, as `inject` of strace says it, until `repair`. */
  async spoilDisk(inject: string): Promise<void> {
    const calls = 'fsync,fdatasync';
    const argv = ['-f', '-p', String(this.#child!.pid), '-o', '/dev/null', '-e', `trace=${calls}`];
    const tracer = spawn('strace', [...argv, '-e', `inject=${calls}:${inject}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#tracer = tracer;
    const end = () => tracer.kill('SIGKILL');
    process.once('exit', end);
    tracer.once('exit', () => process.off('exit', end));
    await once(tracer.stderr, 'data'); // it says that it has attached
  }

  /** Moves the data of the process, which does not run, to a file system with little room. */
  moveToSmallDisk(): void {
    const aside = `${this.dataDir}.aside`;
    renameSync(this.dataDir, aside);
    mkdirSync(this.dataDir, { mode: 0o700 });
    const bytes = Number(execFileSync('du', ['-sb', aside], { encoding: 'utf8' }).split('\t')[0]) + ROOM_BYTES;
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', this.dataDir]);
    this.#isOnSmallDisk = true;
    process.prependOnceListener('exit', this.#unmount); // before its folder is removed
    cpSync(aside, this.dataDir, { recursive: true });
    rmSync(aside, { recursive: true });
  }

  /** Leaves no room where the data is. */
  fillSmallDisk(): void {
    try {
      for (;;) writeFileSync(join(this.dataDir, BALLAST), Buffer.alloc(4_096), { flag: 'a' });
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'ENOSPC') throw thrown;
    }
  }

  /** Moves the data of the process, which does not run, back to where there is room. */
  leaveSmallDisk(): void {
    if (!this.#isOnSmallDisk) return;
    const aside = `${this.dataDir}.aside`;
    rmSync(join(this.dataDir, BALLAST), { force: true });
    cpSync(this.dataDir, aside, { recursive: true });
    this.#unmount();
    process.off('exit', this.#unmount);
    this.#isOnSmallDisk = false;
    rmSync(this.dataDir, { recursive: true });
    renameSync(aside, this.dataDir);
  }

  /** The process keeps its data as well as ever again. */
  async repairDisk(): Promise<void> {
    const tracer = this.#tracer;
    this.#tracer = undefined;
    if (!tracer || tracer.exitCode !== null || tracer.signalCode !== null) return;
    const ended = once(tracer, 'exit');
    tracer.kill('SIGTERM');
    await ended;
  }
}
