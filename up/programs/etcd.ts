import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

import { Agent, request } from 'undici';

import {
  type CertificateFiles,
  issueEtcdClient,
  issueEtcdMember,
  readCertificates,
} from '../../pkg/certificates/index.js';
import { type Clock, sleep, systemClock } from '../../pkg/clock/index.js';
import type { Settings } from '../../pkg/config/index.js';
import { ProcessStartFault } from './faults.js';
import { findFreePort } from './free-port.js';
import { ownsPort } from './port-owner.js';

const HEALTHY_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 50;
const PORT_ATTEMPTS = 5;
const KILLED_AFTER_MS = 10_000;

export interface EtcdOptions {
  readonly dataDir: string;
  /** Default: beside the data, as `<dataDir>.log`. */
  readonly logFile?: string;
  /** Default: a free one. It stays the same over restarts. */
  readonly clientPort?: number;
  readonly peerPort?: number;
  /**
   * Folder of an authority for this etcd alone: whoever holds a client certificate of it may read and write everything.
   * The folder and what is in it are created where missing. Without it, etcd lets everybody in.
   */
  readonly certificates?: string;
  readonly program?: string;
  readonly arguments?: readonly string[];
  /** Lets etcd outlive this process. */
  readonly detached?: boolean;
  readonly clock?: Clock;
}

/** How a process reaches etcd. */
type EtcdAccess = Pick<Settings, 'etcdEndpoints' | 'etcdCaFile' | 'etcdCertFile' | 'etcdKeyFile'>;

interface EtcdCertificates {
  readonly server: CertificateFiles;
  readonly client: CertificateFiles;
}

/**
 * The certificates of an etcd on loopback and of its clients: issued where they are missing, and again when half of their life is
 * over. etcd reads its files at every handshake.
 */
export function ensureEtcdCertificates(folder: string, clock: Clock): EtcdCertificates {
  const now = () => clock.now();
  return {
    server: issueEtcdMember(folder, { name: 'etcd', hosts: ['127.0.0.1', 'localhost'] }, now),
    client: issueEtcdClient(folder, now),
  };
}

/** One etcd member on loopback, run by us. */
export class EtcdProcess {
  readonly #options: EtcdOptions;
  readonly #clock: Clock;
  #clientPort: number;
  #peerPort: number;
  #child: ChildProcess | undefined;
  #certificates: EtcdCertificates | undefined;

  private constructor(options: EtcdOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#clientPort = options.clientPort ?? 0;
    this.#peerPort = options.peerPort ?? 0;
  }

  /** Starts etcd and waits until it serves. */
  static async start(options: EtcdOptions): Promise<EtcdProcess> {
    const etcd = new EtcdProcess(options);
    await etcd.restart();
    return etcd;
  }

  get endpoint(): string {
    return `${this.#scheme}://127.0.0.1:${this.#clientPort}`;
  }

  /** The settings of a process that uses it. */
  get access(): EtcdAccess {
    const { ca = '', cert = '', key = '' } = this.#certificates?.client ?? {};
    return { etcdEndpoints: [this.endpoint], etcdCaFile: ca, etcdCertFile: cert, etcdKeyFile: key };
  }

  get port(): number {
    return this.#clientPort;
  }

  get peerPort(): number {
    return this.#peerPort;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get logFile(): string {
    return this.#options.logFile ?? `${this.#options.dataDir}.log`;
  }

  /** Starts it again on the same data and the same ports, after `kill`. */
  async restart(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const chosen = await this.#choosePorts();
      try {
        await this.#launch();
        return;
      } catch (thrown) {
        await this.kill('SIGKILL');
        if (!chosen || attempt === PORT_ATTEMPTS) throw thrown;
        if (this.#options.clientPort === undefined) this.#clientPort = 0;
        if (this.#options.peerPort === undefined) this.#peerPort = 0;
      }
    }
  }

  /** Ends the process and waits until it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (!child || hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    child.kill('SIGCONT'); // a frozen process would not hear of it
    const insist = this.#clock.after(KILLED_AFTER_MS, () => child.kill('SIGKILL'));
    await ended;
    insist();
  }

  /** Stops it in its tracks: it keeps its connections but answers nothing. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  /** Lets a frozen process go on. */
  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Whether ports were chosen now, so that choosing others may help. */
  async #choosePorts(): Promise<boolean> {
    const chosen = this.#clientPort === 0 || this.#peerPort === 0;
    this.#clientPort ||= await findFreePort();
    this.#peerPort ||= await findFreePort();
    return chosen;
  }

  async #launch(): Promise<void> {
    const { program = 'etcd', detached = false } = this.#options;
    this.#certificates = this.#renewCertificates();
    mkdirSync(dirname(this.logFile), { recursive: true });
    const log = openSync(this.logFile, 'a');
    const child = spawn(program, this.#arguments(), {
      env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
      stdio: ['ignore', log, log],
      detached,
    });
    closeSync(log);
    child.on('error', () => undefined); // seen as a process that has no id
    if (detached) child.unref();
    else endWithUs(child);
    this.#child = child;

    const deadline = this.#clock.monotonic() + HEALTHY_WITHIN_MS;
    while (!(await this.#serves(child))) {
      if (child.pid === undefined) throw new ProcessStartFault(`${program} could not be run: is it installed?`);
      if (hasEnded(child)) throw new ProcessStartFault(`etcd ended while starting; see ${this.logFile}`);
      if (this.#clock.monotonic() > deadline) throw new ProcessStartFault(`etcd does not serve; see ${this.logFile}`);
      await sleep(this.#clock, LOOK_EVERY_MS);
    }
  }

  async #serves(child: ChildProcess): Promise<boolean> {
    if (child.pid === undefined || hasEnded(child)) return false;
    const connect = this.#certificates && readCertificates(this.#certificates.client);
    const dispatcher = new Agent(connect ? { connect } : {});
    try {
      // One whose database is full serves: only then can an operator make room.
      const url = `${this.endpoint}/health?exclude=NOSPACE`;
      const { body } = await request(url, { dispatcher, signal: AbortSignal.timeout(1_000) });
      const { health } = (await body.json()) as { readonly health?: unknown };
      return health === 'true' && (await ownsPort(child.pid, this.#clientPort));
    } catch {
      return false; // nothing listens yet
    } finally {
      await dispatcher.destroy();
    }
  }

  get #scheme(): 'http' | 'https' {
    return this.#options.certificates === undefined ? 'http' : 'https';
  }

  #renewCertificates(): EtcdCertificates | undefined {
    const { certificates: folder } = this.#options;
    if (folder === undefined) return undefined;
    return ensureEtcdCertificates(folder, this.#clock);
  }

  #arguments(): string[] {
    const peer = `${this.#scheme}://127.0.0.1:${this.#peerPort}`;
    return [
      '--name=mooring',
      `--data-dir=${this.#options.dataDir}`,
      `--listen-client-urls=${this.endpoint}`,
      `--advertise-client-urls=${this.endpoint}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=mooring=${peer}`,
      // Versions before 3.4.24 copy the whole read buffer for every read: keep it small.
      '--backend-batch-limit=1000',
      // etcd keeps every write since its last snapshot in memory: 100,000 of them by default before 3.6.
      '--snapshot-count=10000',
      ...(this.#certificates ? toTlsArguments(this.#certificates.server, this.endpoint) : []),
      ...(this.#options.arguments ?? []),
    ];
  }
}

/** No way in but gRPC with a client certificate: the JSON gateway is off, and no page of another origin may read an answer. */
function toTlsArguments({ ca, cert, key }: CertificateFiles, origin: string): readonly string[] {
  return [
    '--client-cert-auth',
    `--trusted-ca-file=${ca}`,
    `--cert-file=${cert}`,
    `--key-file=${key}`,
    '--peer-client-cert-auth',
    `--peer-trusted-ca-file=${ca}`,
    `--peer-cert-file=${cert}`,
    `--peer-key-file=${key}`,
    '--enable-grpc-gateway=false',
    `--cors=${origin}`,
  ];
}

/** A test that crashes leaves no etcd behind. */
function endWithUs(child: ChildProcess): void {
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}
