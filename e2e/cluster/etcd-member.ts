import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
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
    await this.mendDisk();
  }

  /** Freezes the process: it keeps its connections and answers nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Spoils every fsync of the process, as `inject` of strace says it, until `mend`. */
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

  /** The process keeps its data as well as ever again. */
  async mendDisk(): Promise<void> {
    const tracer = this.#tracer;
    this.#tracer = undefined;
    if (!tracer || tracer.exitCode !== null || tracer.signalCode !== null) return;
    const ended = once(tracer, 'exit');
    tracer.kill('SIGTERM');
    await ended;
  }
}

/** Why the disk of a member cannot be spoilt here; undefined when it can. */
export function explainNoTracing(): string | undefined {
  return spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0
    ? undefined
    : 'strace is not installed, or may not trace (Debian: strace)';
}
