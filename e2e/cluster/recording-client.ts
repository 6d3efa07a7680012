import { keys } from '../../crds/keys/index.js';
import { type CertificateFiles, readCertificates } from '../../pkg/certificates/index.js';
import { seededRandom, sleep, systemClock, systemRandom } from '../../pkg/clock/index.js';
import { createLogger, type Logger, silentLogger } from '../../pkg/log/index.js';
import {
  type Entry,
  EtcdStore,
  type Guard,
  Leadership,
  LeaseGoneFault,
  type Store,
  StoreRefusedFault,
  StoreUnavailableFault,
  WatchCache,
  type WatchHandler,
} from '../../pkg/store/index.js';
import type { HistoryRecord, KeyWrite, WriteOutcome } from '../history/index.js';

export interface RecordingClientOptions {
  readonly name: string;
  readonly endpoints: readonly string[];
  readonly prefix: string;
  readonly certificates: CertificateFiles;
  readonly seed: number;
  /** Operations under way at the same time. */
  readonly workers: number;
  /** Between two operations of a worker. */
  readonly pauseMs: number;
  readonly logFile?: string;
}

/** What a client does, and when each of it last succeeded. */
export type Activity = 'write' | 'read' | 'cache' | 'lease' | 'tail' | 'lead';
export type Progress = Readonly<Record<Activity, number>>;

/** What a client has recorded, and what its cache shows in the end. */
export interface ClientHistory {
  readonly records: readonly HistoryRecord[];
  readonly cached: readonly (readonly [key: string, revision: number])[];
}

/** The loop whose leadership clients compete for. */
export const LOOP = 'chaos';

/** Keys change every so often, so that the history of each stays short enough to be searched. */
const GENERATION_MS = 2_000;
const LEASE_EVERY_MS = 200;
const LEAD_EVERY_MS = 50;
const LEADER_TTL_SECONDS = 5;
const AFTER_FAILURE_MS = 20;
/** Keys that prove changes are used again after so many. */
const PROOFS = 500;

/** Milliseconds of a clock that all processes of this machine share. */
export function readSharedClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A client that reads, writes, tails, leases and leads, and records every answer. */
export class RecordingClient {
  readonly records: HistoryRecord[] = [];
  readonly progress: Record<Activity, number> = { write: 0, read: 0, cache: 0, lease: 0, tail: 0, lead: 0 };
  readonly #options: RecordingClientOptions;
  readonly #store: EtcdStore;
  readonly #cache: WatchCache;
  readonly #random;
  readonly #log: Logger;
  readonly #known = new Map<string, number>();
  readonly #stopping = new AbortController();
  readonly #closing = new AbortController();
  #working: Promise<unknown> = Promise.resolve();
  #following: Promise<void> = Promise.resolve();
  #count = 0;

  constructor(options: RecordingClientOptions) {
    const { endpoints, prefix, certificates, seed, logFile } = options;
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#log = logFile ? createLogger({ level: 'debug', format: 'json', file: logFile }) : silentLogger;
    this.#store = new EtcdStore({ endpoints, prefix, tls: readCertificates(certificates), log: this.#log });
    this.#cache = new WatchCache({ store: this.#recordingStore(), clock: systemClock, log: this.#log });
  }

  start(): void {
    this.#following = this.#cache.run(this.#closing.signal);
    const workers = Array.from({ length: this.#options.workers }, () => this.#work());
    this.#working = Promise.all([...workers, this.#lease(), this.#lead()]);
  }

  /** Begins nothing more, and waits for what is under way. */
  async quiesce(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  /** Waits until the cache shows a revision, and closes. */
  async finish(revision: number): Promise<ClientHistory> {
    for (
      const deadline = readSharedClock() + 20_000;
      this.#cache.revision !== revision && readSharedClock() < deadline;
    )
      await sleep(systemClock, 10);
    const cached = this.#cache.list('').map(({ key, revision: at }) => [key, at] as const);
    this.#closing.abort();
    await this.#following;
    await this.#store.close();
    return { records: this.records, cached };
  }

  async #work(): Promise<void> {
    const { pauseMs } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const roll = this.#random.next();
      const key = this.#pickKey();
      const isDone =
        roll < 0.3 ? await this.#read(key) : roll < 0.45 ? await this.#readCache(key) : await this.#change(key);
      await sleep(systemClock, isDone ? pauseMs : AFTER_FAILURE_MS);
    }
  }

  #pickKey(): string {
    const generation = Math.floor(readSharedClock() / GENERATION_MS);
    return `data/${generation}/${Math.floor(this.#random.next() * Math.max(24, this.#options.workers * 4))}`;
  }

  #read(key: string): Promise<boolean> {
    return this.#recordRead(key, 'read', () => this.#store.get(key));
  }

  /** A linearizable read from the cache. */
  #readCache(key: string): Promise<boolean> {
    return this.#recordRead(key, 'cache', async () => {
      await this.#cache.barrier();
      return this.#cache.get(key);
    });
  }

  async #recordRead(key: string, from: 'read' | 'cache', look: () => Promise<Entry | undefined>): Promise<boolean> {
    const { name: process } = this.#options;
    const begin = readSharedClock();
    try {
      const entry = await look();
      const end = readSharedClock();
      const revision = entry?.revision ?? 0;
      this.#known.set(key, revision);
      const read = { key, revision, bytes: entry?.bytes.toString(), isFromCache: from === 'cache' };
      this.records.push({ kind: 'read', process, begin, end, ...read });
      this.progress[from] = end;
      return true;
    } catch {
      return false; // a read that was not answered says nothing
    }
  }

  /**
   * Changes one key or two; at times behind a guard that cannot hold, at times with bytes that others write too. Then a
   * put of its own proves the change, as the store asks for.
   */
  async #change(key: string): Promise<boolean> {
    const [stale, same, twice, removes] = [0.1, 0.2, 0.1, 0.2].map(share => this.#random.next() < share);
    const other = this.#pickKey();
    const writes = (twice && other !== key ? [key, other] : [key]).map((written): KeyWrite => {
      const known = this.#known.get(written) ?? 0;
      const bytes = same ? '{}' : JSON.stringify({ by: this.#options.name, n: ++this.#count });
      return { key: written, guardedAt: stale ? known + 1 : known, bytes: removes && known > 0 ? undefined : bytes };
    });
    return (await this.#commit(writes, undefined, same)) !== 'failed';
  }

  async #commit(writes: readonly KeyWrite[], fence?: Guard, withProof = false): Promise<WriteOutcome> {
    const guards: Guard[] = writes.map(({ key, guardedAt }) => ({ key, at: guardedAt }));
    if (fence) guards.push(fence);
    const proof = `proofs/${this.#options.name}/${++this.#count % PROOFS}`;
    const puts = writes.flatMap(({ key, bytes }) => (bytes === undefined ? [] : [{ key, bytes: Buffer.from(bytes) }]));
    const change = {
      guards,
      puts: withProof ? [...puts, { key: proof, bytes: Buffer.from(`{"n":${this.#count}}`) }] : puts,
      ...(withProof ? { proof } : {}),
      deletes: writes.filter(({ bytes }) => bytes === undefined).map(({ key }) => key),
    };
    const begin = readSharedClock();
    let outcome: WriteOutcome;
    let revision: number | undefined;
    try {
      const verdict = await this.#store.commit(change);
      outcome = verdict.stored ? 'stored' : 'refused';
      if (verdict.stored) revision = verdict.revision;
    } catch (thrown) {
      const nothingStored =
        thrown instanceof StoreUnavailableFault ||
        thrown instanceof StoreRefusedFault ||
        thrown instanceof LeaseGoneFault;
      outcome = nothingStored ? 'failed' : 'unknown';
    }
    const end = readSharedClock();
    const created = fence && 'created' in fence ? { fence: fence.created } : {};
    const stored = revision === undefined ? {} : { revision };
    this.records.push({
      kind: 'write',
      process: this.#options.name,
      begin,
      end,
      writes,
      outcome,
      ...stored,
      ...created,
      ...(withProof ? { isProven: true } : {}),
    });
    if (outcome === 'stored') {
      for (const { key, bytes } of writes) this.#known.set(key, bytes === undefined ? 0 : revision!);
      this.progress[fence ? 'lead' : 'write'] = end;
    } else {
      for (const { key } of writes) this.#known.delete(key);
    }
    return outcome;
  }

  async #lease(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      let id = '';
      await this.#recordLease(async () => {
        id = (await this.#store.grant(30)).id;
        return true;
      });
      if (id !== '') {
        await this.#recordLease(() => this.#store.keepAlive(id));
        await this.#recordLease(() => this.#store.revoke(id).then(() => true));
      }
      await sleep(systemClock, LEASE_EVERY_MS, this.#stopping.signal);
    }
  }

  async #recordLease(ask: () => Promise<boolean>): Promise<void> {
    const begin = readSharedClock();
    const isGranted = await ask().catch(() => false);
    const end = readSharedClock();
    this.records.push({ kind: 'lease', process: this.#options.name, begin, end, isGranted });
    if (isGranted) this.progress.lease = end;
  }

  #lead(): Promise<void> {
    const { name: holder } = this.#options;
    const leadership = new Leadership({
      store: this.#store,
      cache: this.#cache,
      clock: systemClock,
      random: systemRandom,
      name: LOOP,
      holder,
      ttlSeconds: LEADER_TTL_SECONDS,
      log: this.#log,
    });
    return leadership.run(this.#stopping.signal, async (fence, lost) => {
      while (!lost.aborted) {
        const bytes = JSON.stringify({ fence: 'created' in fence ? fence.created : 0, by: holder });
        await this.#commit([{ key: `led/${holder}/${++this.#count}`, guardedAt: 0, bytes }], fence);
        await sleep(systemClock, LEAD_EVERY_MS, lost);
      }
    });
  }

  /** The store, with everything written down that it feeds to the cache. */
  #recordingStore(): Store {
    const store = this.#store;
    const recorded = (handler: WatchHandler): WatchHandler => ({
      onReset: listing => {
        const entries = listing.entries.map(({ key, revision }) => [key, revision] as const);
        this.#recordFrame({ kind: 'reset', ...this.#now(), revision: listing.revision, entries });
        handler.onReset(listing);
      },
      onEvents: events => {
        const changes = events.map(({ key, entry }) => [key, entry !== undefined] as const);
        this.#recordFrame({ kind: 'changes', ...this.#now(), revision: events[0]!.revision, changes });
        handler.onEvents(events);
      },
      onConnected: up => handler.onConnected(up),
    });
    return new Proxy<Store>(store, {
      get: (_, name: keyof Store) =>
        name === 'follow'
          ? (handler: WatchHandler, ...rest: [Parameters<Store['follow']>[1], AbortSignal]) =>
              store.follow(recorded(handler), ...rest)
          : store[name].bind(store),
    });
  }

  #recordFrame(frame: HistoryRecord): void {
    this.records.push(frame);
    this.progress.tail = readSharedClock();
  }

  #now(): { readonly process: string; readonly at: number } {
    return { process: this.#options.name, at: readSharedClock() };
  }
}

/** The key that the leader of `LOOP` holds. */
export const LEADER_KEY = keys.leader(LOOP);
