import { type ContainerEnd, withoutOutput } from '../../../crds/report/index.js';
import { backoffMs, type Clock } from '../../clock/index.js';
import { type Disk, readStateFile } from '../disk.js';
import type { ContainerStatus, Ownership } from '../engine/index.js';

const FILE = 'restarts.json';
const BACKOFF = { firstMs: 1_000, capMs: 60_000 };
/** How long a container must be ready before its failures are forgotten. */
const SETTLE_MS = 60_000;
/** A slot that was not tried to be started for this long is forgotten. */
const FORGET_MS = 600_000;
const SLOTS_MAX = 2_000;
const CRASH_LOOP_FAILURES = 3;

/** A slot of a deployment, filled from one template: what failures are counted for. */
export type SlotTemplate = Pick<Ownership, 'deploymentUid' | 'slot' | 'templateHash'>;

interface SlotHistory {
  /** Starts since the slot last had a container that was ready for a minute: each but the first is a failure. */
  failures: number;
  /** Monotonic time of the last failure, from which the back-off counts. */
  at: number;
}

/** The file: restarts by replica, failures by slot. Before, it held `{restarts, quick}` by replica. */
interface StoredHistory {
  readonly restarts: Readonly<Record<string, number>>;
  readonly slots: Readonly<Record<string, number>>;
  /** How the containers of replicas ended last: never their output. */
  readonly ends?: Readonly<Record<string, ContainerEnd>>;
}

const slotKey = ({ deploymentUid, slot, templateHash }: SlotTemplate): string =>
  `${deploymentUid}/${slot}/${templateHash}`;

/**
 * Counts restarts and failed starts, and computes the back-off before the next start.
 *
 * Failures are counted for a slot and a template, not for a replica or a container: a new container, a new replica of the
 * slot, an event or a restart of the agent do not reset the back-off. Only a container that is ready for a minute does. A
 * changed template is tried at once.
 */
export class StartHistory {
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #restarts: Map<string, number>;
  readonly #slots: Map<string, SlotHistory>;
  readonly #ends: Map<string, ContainerEnd>;
  readonly #readySince = new Map<string, number>();
  /** The end that was seen last, of containers that are seen exited. */
  readonly #exited = new Map<string, string | undefined>();

  private constructor(clock: Clock, disk: Disk, { restarts, slots, ends = {} }: StoredHistory) {
    this.#clock = clock;
    this.#disk = disk;
    this.#restarts = new Map(Object.entries(restarts));
    this.#ends = new Map(Object.entries(ends));
    // When the last start failed is not stored: the whole back-off counts from here.
    const at = clock.monotonic();
    this.#slots = new Map(Object.entries(slots).map(([key, failures]) => [key, { failures, at }]));
  }

  static async load(clock: Clock, disk: Disk): Promise<StartHistory> {
    const stored = await readStateFile<StoredHistory>(disk, FILE, () => true);
    return new StartHistory(clock, disk, toHistory(stored ?? {}));
  }

  restarts(uid: string): number {
    return this.#restarts.get(uid) ?? 0;
  }

  /** How the replica's container ended last. */
  lastEnd(uid: string): ContainerEnd | undefined {
    return this.#ends.get(uid);
  }

  /** Records an end. Its output is kept in memory only. */
  async recordEnd(uid: string, end: ContainerEnd): Promise<void> {
    this.#ends.set(uid, end);
    await this.#save();
  }

  /** How many starts have failed since the slot was last ready for a minute. */
  failures(slot: SlotTemplate): number {
    return this.#slots.get(slotKey(slot))?.failures ?? 0;
  }

  /** Whether the container exits again and again without being ready for a minute. */
  isCrashLooping(slot: SlotTemplate): boolean {
    return this.failures(slot) >= CRASH_LOOP_FAILURES;
  }

  /** Records the observed state of a container. An agent that looks late learns from `endedAt` how long it ran in truth. */
  observe(
    uid: string,
    slot: SlotTemplate,
    { state, health, endedAt }: Pick<ContainerStatus, 'state' | 'health' | 'endedAt'>,
  ): void {
    const isReady = state === 'running' && (health === 'none' || health === 'healthy');
    if (isReady && !this.#readySince.has(uid)) this.#readySince.set(uid, this.#clock.monotonic());
    this.#settle(uid, slot, state === 'exited' && endedAt !== undefined ? this.#clock.now() - Date.parse(endedAt) : 0);
    if (!isReady) this.#readySince.delete(uid);
    if (state !== 'exited') this.#exited.delete(uid);
    // One that was started and has ended again between two looks has ended again.
    else if (!this.#exited.has(uid) || this.#exited.get(uid) !== endedAt) {
      this.#exited.set(uid, endedAt);
      const history = this.#slots.get(slotKey(slot));
      if (history) history.at = this.#clock.monotonic();
    }
  }

  /** What is left of the back-off: none for the first start and the first restart, then doubling to a minute. */
  backoffMs(slot: SlotTemplate): number {
    const history = this.#slots.get(slotKey(slot));
    if (!history) return 0;
    return Math.max(0, history.at + backoffMs(history.failures, BACKOFF) - this.#clock.monotonic());
  }

  /** The back-off in seconds, once it does not grow any more. */
  findRegularBackoff(slot: SlotTemplate): number | undefined {
    return backoffMs(this.failures(slot), BACKOFF) >= BACKOFF.capMs ? BACKOFF.capMs / 1000 : undefined;
  }

  /** Counts a restart, before it happens. */
  async countRestart(uid: string, slot: SlotTemplate): Promise<void> {
    this.#restarts.set(uid, this.restarts(uid) + 1);
    await this.countFailure(slot);
  }

  /** Counts a start that failed, or an exit. It is on disk before the next start, where the disk takes it. */
  async countFailure(slot: SlotTemplate): Promise<void> {
    const key = slotKey(slot);
    const failures = this.failures(slot) + 1;
    this.#slots.delete(key); // the map is in the order of the last failures
    this.#slots.set(key, { failures, at: this.#clock.monotonic() });
    this.#prune();
    await this.#save();
  }

  /** Drops what is known of a removed replica. What is known of its slot stays for ten minutes. */
  async forget(uid: string, slot: SlotTemplate | undefined): Promise<void> {
    if (slot) this.#settle(uid, slot);
    this.#readySince.delete(uid);
    this.#exited.delete(uid);
    const [hadRestarts, hadEnd] = [this.#restarts.delete(uid), this.#ends.delete(uid)];
    if (hadRestarts || hadEnd) await this.#save();
  }

  /** `endedMsAgo`: what passed since does not count as time in which it was ready. */
  #settle(uid: string, slot: SlotTemplate, endedMsAgo = 0): void {
    const since = this.#readySince.get(uid);
    if (since === undefined) return;
    const ready = this.#clock.monotonic() - Math.max(0, endedMsAgo || 0) - since;
    if (ready >= SETTLE_MS) this.#slots.delete(slotKey(slot));
  }

  #prune(): void {
    const now = this.#clock.monotonic();
    for (const [key, { at }] of this.#slots) {
      if (now - at < FORGET_MS && this.#slots.size <= SLOTS_MAX) return;
      this.#slots.delete(key);
    }
  }

  /** Where it cannot be written, the next agent knows less of the back-off: no reason to leave a container stopped. */
  #save(): Promise<void> {
    const slots = [...this.#slots].map(([key, { failures }]) => [key, failures]);
    const ends = [...this.#ends].map(([uid, end]) => [uid, withoutOutput(end)]);
    const stored: StoredHistory = {
      restarts: Object.fromEntries(this.#restarts),
      slots: Object.fromEntries(slots),
      ...(ends.length > 0 && { ends: Object.fromEntries(ends) }),
    };
    return this.#disk.keep(FILE, JSON.stringify(stored));
  }
}

function toHistory(stored: Partial<StoredHistory>): StoredHistory {
  if (stored.slots && stored.restarts) {
    return { restarts: stored.restarts, slots: stored.slots, ...(stored.ends && { ends: stored.ends }) };
  }
  const former = stored as Readonly<Record<string, { readonly restarts?: number }>>;
  const counts = Object.entries(former).map(([uid, each]) => [uid, each?.restarts ?? 0] as const);
  return { restarts: Object.fromEntries(counts), slots: {} };
}
