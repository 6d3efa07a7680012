import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ConstantBackoff } from 'cockatiel';
import { Etcd3, type Watcher } from 'etcd3';

import { EtcdProcess, TcpProxy } from '../../../dev/processes/index.js';
import { EtcdStore, type EtcdStoreOptions } from './etcd-store.js';
import { Reader } from './protobuf.js';

/** A real etcd with a proxy before it that can fail, and stores that reach it either way. */
export class EtcdLab {
  readonly etcd: EtcdProcess;
  readonly proxy: TcpProxy;
  readonly #folder: string;
  readonly #stores: EtcdStore[] = [];
  #prefixes = 0;
  #prefix = '';

  private constructor(folder: string, etcd: EtcdProcess, proxy: TcpProxy) {
    this.#folder = folder;
    this.etcd = etcd;
    this.proxy = proxy;
    this.fresh();
  }

  static async start(etcdArguments: readonly string[] = []): Promise<EtcdLab> {
    const folder = mkdtempSync(join(tmpdir(), 'mooring-etcd-'));
    const etcd = await EtcdProcess.start({ dataDir: join(folder, 'data'), arguments: etcdArguments });
    return new EtcdLab(folder, etcd, await TcpProxy.start(etcd.port));
  }

  /** Stores opened from now on share a root that is empty. */
  fresh(): void {
    this.#prefix = `/test-${++this.#prefixes}/`;
  }

  get dataDir(): string {
    return join(this.#folder, 'data');
  }

  get prefix(): string {
    return this.#prefix;
  }

  /** A store that goes straight to etcd. */
  direct(options: Partial<EtcdStoreOptions> = {}): EtcdStore {
    return this.#open(this.etcd.endpoint, options);
  }

  /** A store that goes through the proxy. */
  proxied(options: Partial<EtcdStoreOptions> = {}): EtcdStore {
    return this.#open(this.proxy.endpoint, options);
  }

  /** Closes all stores and resets the proxy for the next test. */
  async settle(): Promise<void> {
    await Promise.all(this.#stores.splice(0).map(store => store.close()));
    this.proxy.onServerData = undefined;
    this.proxy.mode = 'pass';
    this.proxy.cut();
    this.fresh();
  }

  /** Forgets history up to `revision`, as an operator's compaction does. */
  async compact(revision: number): Promise<void> {
    const answer = await fetch(`${this.etcd.endpoint}/v3/kv/compaction`, {
      method: 'POST',
      body: JSON.stringify({ revision: String(revision), physical: true }),
    });
    if (!answer.ok) throw new Error(`compaction answered ${answer.status}`);
  }

  async stop(): Promise<void> {
    await this.settle();
    await this.proxy.stop();
    await this.etcd.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #open(endpoint: string, options: Partial<EtcdStoreOptions>): EtcdStore {
    const store = new EtcdStore({ endpoints: [endpoint], prefix: this.#prefix, ...options });
    this.#stores.push(store);
    return store;
  }
}

/** etcd3's own watcher, to show what becomes of it under the same fault. */
export class CarelessWatch {
  readonly keys = new Set<string>();
  failed = false;
  readonly #client: Etcd3;
  readonly #watcher: Watcher;

  private constructor(client: Etcd3, watcher: Watcher, prefix: string) {
    this.#client = client;
    this.#watcher = watcher;
    watcher.on('put', ({ key }) => this.keys.add(key.toString().slice(prefix.length)));
    watcher.on('error', () => {
      this.failed = true;
    });
  }

  static async start(endpoint: string, prefix: string): Promise<CarelessWatch> {
    const client = new Etcd3({ hosts: endpoint, faultHandling: { watchBackoff: new ConstantBackoff(50).next() } });
    return new CarelessWatch(client, await client.watch().prefix(prefix).create(), prefix);
  }

  async stop(): Promise<void> {
    await this.#watcher.cancel().catch(() => undefined);
    this.#client.close();
  }
}

const DATA_FRAME = 0;
const FRAME_HEADER = 9;
const GRPC_HEADER = 5;

/**
 * These bytes of a server up to and with the answer that a watch was created; undefined when they do not carry it. Events may
 * follow it in the same piece.
 */
export function cutAfterCreated(bytes: Buffer): Buffer | undefined {
  for (let at = 0; at + FRAME_HEADER <= bytes.length; ) {
    const end = at + FRAME_HEADER + bytes.readUIntBE(at, 3);
    const payload = bytes.subarray(at + FRAME_HEADER, end);
    const isMessage = bytes[at + 3] === DATA_FRAME && payload.length > GRPC_HEADER;
    if (isMessage && isCreatedAnswer(payload.subarray(GRPC_HEADER))) return bytes.subarray(0, end);
    at = end;
  }
  return undefined;
}

function isCreatedAnswer(message: Buffer): boolean {
  try {
    const fields = decodeFields(message);
    return fields.get(0x18) === 1 && !fields.has(0x12) && !fields.has(0x20);
  } catch {
    return false; // part of something larger
  }
}

/** The numbers of a message, by tag; other fields count as 0. */
function decodeFields(message: Buffer): Map<number, number> {
  const reader = new Reader(message);
  const fields = new Map<number, number>();
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    const isNumber = (tag & 7) === 0;
    if (!isNumber) reader.skip(tag);
    fields.set(tag, isNumber ? reader.number() : 0);
  }
  return fields;
}
