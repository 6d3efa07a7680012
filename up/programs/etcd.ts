import type { ChildProcess } from 'node:child_process';

import { Agent, request } from 'undici';

import {
  type CertificateFiles,
  issueEtcdClient,
  issueEtcdMember,
  readCertificates,
} from '../../pkg/certificates/index.js';
import { type Clock, systemClock } from '../../pkg/clock/index.js';
import type { Settings } from '../../pkg/config/index.js';
import { findFreePort } from './free-port.js';
import { ownsPort } from './port-owner.js';
import { awaitServing, endProgram, runProgram } from './program.js';

const HEALTHY_WITHIN_MS = 20_000;
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
   * Folder of an authority for this etcd alone: a client certificate of it may read and write everything.
   * The folder and what is in it are created where missing. Without it, etcd authenticates no client.
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
    if (!child) return;
    const insist = this.#clock.after(KILLED_AFTER_MS, () => child.kill('SIGKILL'));
    await endProgram(child, signal);
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
    const environment = { ETCD_UNSUPPORTED_ARCH: process.arch };
    const { logFile } = this;
    const child = runProgram(program, this.#arguments(), { logFile, detached, endsWithUs: !detached, environment });
    this.#child = child;
    await awaitServing(child, () => this.#serves(child), { withinMs: HEALTHY_WITHIN_MS, logFile });
  }

  async #serves({ pid }: ChildProcess): Promise<boolean> {
    const connect = this.#certificates && readCertificates(this.#certificates.client);
    const dispatcher = new Agent(connect ? { connect } : {});
    try {
      // One whose database is full serves: only then can an operator make room.
      const url = `${this.endpoint}/health?exclude=NOSPACE`;
      const { body } = await request(url, { dispatcher, signal: AbortSignal.timeout(1_000) });
      const { health } = (await body.json()) as { readonly health?: unknown };
      return health === 'true' && pid !== undefined && (await ownsPort(pid, this.#clientPort));
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
