import { hostname } from 'node:os';

import { isDnsLabel } from '../../crds/grammar/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { AgreedClock, ClockReading } from '../clock/agreed-clock.js';
import { type Random, sleep } from '../clock/index.js';
import { InvalidSettingFault, type Settings } from '../config/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { type Cache, type CacheChange, encode, type Lease, type Store, value } from '../store/index.js';

/** Value of `platform/<node name>/<process>`. */
export interface PlatformPresence {
  /** `server` or `controllers`. */
  readonly program: string;
  readonly since: string;
  /** What the clocks of the process showed when this was written. */
  readonly clock: ClockReading;
}

export interface PlatformRecordOptions {
  readonly store: Pick<Store, 'get' | 'grant' | 'keepAlive' | 'commit' | 'revoke'>;
  /** Shows the records of the other processes. */
  readonly cache: Pick<Cache, 'get' | 'list' | 'subscribe' | 'ready'>;
  /** Hears what the clocks of the others show. */
  readonly clock: AgreedClock;
  readonly random: Pick<Random, 'bytes'>;
  readonly log: Logger;
  readonly program: string;
  /** The node that this process runs on. */
  readonly node: string;
  /** How long the record counts after its process has ended without a word. */
  readonly ttlSeconds: number;
  /** Called every now and then with how far the wall clock of this process is ahead of the time that is agreed on. */
  readonly onOffset?: (ms: number) => void;
}

/** The readings of a clock that only goes on are as good as new for this long. */
const READ_AGAIN_MS = 300_000;
/** A clock that has moved so far against the monotonic one is recorded. */
const MOVED_MS = 1_000;
/** A wall clock that is further off is warned of. */
const OFF_MS = 5_000;

/**
 * The name of the node that this process runs on: as set, or as an agent on this machine would be called. Undefined where the
 * machine has a name that no node can have.
 */
export function findOwnNode({ nodeName }: Pick<Settings, 'nodeName'>, machine = hostname()): string | undefined {
  if (nodeName !== '' && !isDnsLabel(nodeName)) {
    throw new InvalidSettingFault(`setting "nodeName": "${nodeName}" must be the name of a node`);
  }
  const name = nodeName || machine.toLowerCase().split('.')[0]!;
  return isDnsLabel(name) ? name : undefined;
}

/**
 * Keeps a record that a process of the control plane runs on a node: the node monitor reads from it, while it is fresh, that
 * the control plane's own node is alive, and the other processes what its clocks show.
 *
 * Each process has a key of its own, on a lease: a record that was lost, or whose lease has ended, is written again. Nothing is written while the
 * clocks go on evenly, but for one reading in five minutes and one for each process that starts.
 */
export class PlatformRecord {
  /** Resolves when the record was written, or that has failed: who lists the store then finds all that began before. */
  readonly tried: Promise<void>;
  readonly #options: PlatformRecordOptions;
  readonly #key: string;
  readonly #since: string;
  #noteTried!: () => void;
  #lease: Lease | undefined;
  /** What the record says. */
  #recorded: ClockReading | undefined;
  #rest = new AbortController();
  #isOff = false;

  constructor(options: PlatformRecordOptions) {
    const { node, program, random, clock } = options;
    this.#options = options;
    this.#key = keys.platform(node, `${program}-${random.bytes(8).toString('hex')}`);
    this.#since = new Date(clock.now()).toISOString();
    this.tried = new Promise(resolve => {
      this.#noteTried = resolve;
    });
  }

  /** Keeps the record until aborted, then removes it. */
  async run(signal: AbortSignal): Promise<void> {
    const { cache, clock, log, ttlSeconds, store } = this.#options;
    const unsubscribe = cache.subscribe(change => this.#onChange(change));
    void cache.ready.then(() => {
      clock.adopt(this.#listElders());
      this.#rest.abort();
    });
    while (!signal.aborted) {
      this.#rest = new AbortController();
      try {
        if (this.#lease && !(await store.keepAlive(this.#lease.id))) this.#lease = this.#recorded = undefined;
        if (this.#isDue(clock.read())) await this.#write();
      } catch (thrown) {
        log.debug('the record of this process could not be renewed, retrying', { error: asError(thrown) });
      }
      this.#noteTried();
      this.#judgeOffset(clock.read());
      await sleep(clock, (ttlSeconds * 1000) / 3, AbortSignal.any([signal, this.#rest.signal]));
    }
    unsubscribe();
    this.#noteTried();
    if (this.#lease) await store.revoke(this.#lease.id).catch(() => undefined); // it ends by itself
  }

  #isDue({ wall, monotonic, agreed }: ClockReading): boolean {
    const recorded = this.#recorded;
    if (!recorded) return true;
    const passedMs = monotonic - recorded.monotonic;
    const hasMoved = [wall - recorded.wall, agreed - recorded.agreed].some(ms => Math.abs(ms - passedMs) >= MOVED_MS);
    return hasMoved || passedMs >= READ_AGAIN_MS;
  }

  async #write(): Promise<void> {
    const { store, program, ttlSeconds, clock } = this.#options;
    const lease = (this.#lease ??= await store.grant(ttlSeconds));
    const held = await store.get(this.#key);
    const reading = clock.read();
    const bytes = encode({ program, since: this.#since, clock: reading } satisfies PlatformPresence);
    const puts = [{ key: this.#key, bytes, lease: lease.id }];
    const verdict = await store.commit({ guards: [{ key: this.#key, at: held?.revision ?? 0 }], puts, deletes: [] });
    if (verdict.stored) this.#recorded = reading;
  }

  /** A process that starts gets a reading of the clocks of this one at once: it does not know how old its record is. */
  #onChange({ key, entry, previous, revision }: CacheChange): void {
    if (!key.startsWith(ranges.platform)) return;
    const isOwn = key === this.#key;
    const isFresh = entry?.revision === revision;
    const reading = entry && readClock(value(entry));
    if (!entry && !isOwn) this.#options.clock.forget(key);
    if (reading && !isOwn) this.#options.clock.addReading(key, splitKey(key)[0]!, reading, isFresh);
    if (isOwn ? !entry : !previous && isFresh) {
      this.#recorded = undefined;
      this.#rest.abort();
    }
  }

  /** The readings of processes whose records are older than that of this one: of two that start at once, one takes over. */
  #listElders(): readonly ClockReading[] {
    const { cache } = this.#options;
    const { created } = cache.get(this.#key) ?? { created: Infinity };
    const elders = cache.list(ranges.platform).filter(entry => entry.key !== this.#key && entry.created < created);
    return elders.flatMap(entry => readClock(value(entry)) ?? []);
  }

  #judgeOffset({ wall, agreed }: ClockReading): void {
    const { log, onOffset } = this.#options;
    const offMs = wall - agreed;
    onOffset?.(offMs);
    const wasOff = this.#isOff;
    this.#isOff = Math.abs(offMs) >= OFF_MS;
    const ms = Math.round(offMs);
    if (this.#isOff && !wasOff) {
      const because = 'the time of the other processes is used; see to the time synchronisation of the machine';
      log.warn('the clock of this machine is off', { ms, because });
    } else if (wasOff && !this.#isOff) log.info('the clock of this machine is right again', { ms });
  }
}

/** The reading in the record of a process; undefined when it has none that can be worked with. */
function readClock(presence: Partial<PlatformPresence> | null | undefined): ClockReading | undefined {
  const { wall, monotonic, agreed } = presence?.clock ?? {};
  return [wall, monotonic, agreed].every(Number.isFinite) ? presence?.clock : undefined;
}
