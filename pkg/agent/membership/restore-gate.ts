import type { AdvertisedCondition } from '../../../crds/node/index.js';
import { describeSetBack } from '../../../crds/reasons/index.js';
import type { Clock } from '../../clock/index.js';
import { type AssignmentLine, type ProvenPosition, wasSetBack } from '../../link/index.js';
import type { Logger } from '../../log/index.js';
import { type Disk, readStateFile } from '../disk.js';

const FILE = 'store-seen.json';
/** What rises with every write of the control plane is not written down each time. */
const SAVE_MS = 10_000;

export type AssignmentSnapshot = Extract<AssignmentLine, { readonly type: 'snapshot' }>;

/** What is kept across restarts. */
interface StoredPosition {
  /** A machine that another tenant enrols starts over: that may be in another installation. */
  readonly tenant: string;
  readonly seen?: ProvenPosition;
  readonly isHeld?: true;
}

interface GateEnv {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly log: Logger;
}

/** What would become of the node, as it is reported and can be confirmed. */
interface HeldChanges {
  readonly digest: string;
  /** Nothing of it would go. */
  readonly isHarmless: boolean;
}

/**
 * Lets through what the control plane assigns, unless its store is older than what this agent has seen: then etcd was restored from a
 * backup, maybe the wrong one. Until that is declared, with what would go here, the agent goes on with what it had.
 */
export class RestoreGate {
  readonly #env: GateEnv;
  readonly #tenant: string;
  #seen: ProvenPosition | undefined;
  /** What was seen when the present stream was asked for: another server may answer a heartbeat before its first line comes. */
  #floor: ProvenPosition | undefined;
  #state: 'unknown' | 'open' | 'held' = 'unknown';
  #ignored: AssignmentSnapshot | undefined;
  /** Whether the present stream has begun, and is obeyed. */
  #isCurrent = false;
  #saved: ProvenPosition | undefined;
  #savedAt = Number.NEGATIVE_INFINITY;
  readonly #waiters = new Set<() => void>();
  /** Whether it was said that the agent holds: not while it only compares what a declaration would change. */
  #isSet = false;
  /** It holds no longer, or what it knows of a store that is not obeyed is not the latest: lines of the present stream were ignored. */
  #needsStream = false;

  private constructor(env: GateEnv, tenant: string, { seen, isHeld }: Partial<StoredPosition> = {}) {
    this.#env = env;
    this.#tenant = tenant;
    this.#seen = seen;
    this.#saved = seen;
    if (!isHeld) return;
    this.#state = 'held';
    this.#say();
  }

  static async load(env: GateEnv, tenant: string): Promise<RestoreGate> {
    const stored = await readStateFile<StoredPosition>(env.disk, FILE, isSound);
    return new RestoreGate(env, tenant, stored?.tenant === tenant ? stored : undefined);
  }

  get isHeld(): boolean {
    return this.#state === 'held';
  }

  /** Whether an assignment was obeyed since the agent began. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** What was last assigned and not obeyed, while the agent holds. */
  get ignored(): AssignmentSnapshot | undefined {
    return this.isHeld ? this.#ignored : undefined;
  }

  /** Whether the stream of assignments has to start over. */
  get needsStream(): boolean {
    return this.#needsStream;
  }

  /** What this agent has seen, with the proof: for a store that does not know of it any more. */
  get seen(): ProvenPosition | undefined {
    return this.#seen;
  }

  /** The condition of the node while the agent holds. */
  get conditions(): readonly AdvertisedCondition[] {
    if (!this.isHeld) return [];
    return [{ type: 'StoreCurrent', status: 'False', reason: 'store_set_back', message: describeSetBack() }];
  }

  /** A stream of assignments is about to be asked for. */
  expectStream(): void {
    this.#floor = this.#seen;
    this.#isCurrent = false;
    this.#needsStream = false;
  }

  /** Whether a line is to be obeyed. Logs may be read at any time. */
  admits(line: AssignmentLine): boolean {
    if (line.type === 'ping' || line.type === 'logs' || line.type === 'kept-logs') return true;
    if (line.type === 'snapshot') this.#judge(line);
    else if (this.#ignored) this.#needsStream = true;
    return this.#isCurrent;
  }

  /**
   * Takes what would become of the node by `snapshot`, which was ignored. Answers whether the agent holds no longer: a later restore epoch
   * confirms exactly that, or there is nothing that would go.
   */
  settle(snapshot: AssignmentSnapshot, { digest, isHarmless }: HeldChanges): boolean {
    if (this.ignored !== snapshot) return false;
    const { store, isSetBack = false, confirmed } = snapshot;
    if (isSetBack || !this.#isDeclared(store) || (!isHarmless && confirmed !== digest)) {
      this.#say();
      return false;
    }
    this.#state = 'open';
    this.#ignored = undefined;
    this.#seen = store;
    this.#save();
    this.#env.log.warn('the restore of etcd was declared: this agent does again what is assigned to it');
    this.#isSet = false;
    this.#needsStream = true;
    return true;
  }

  #isDeclared(store: ProvenPosition): boolean {
    return store.restoreEpoch > (this.#seen?.restoreEpoch ?? -1);
  }

  /** A server has said how far it knows the store. It may know less than another one, so that settles nothing. */
  noteReply(store: ProvenPosition): void {
    if (!this.#seen || this.isHeld || store.restoreEpoch !== this.#seen.restoreEpoch) return;
    if (store.revision > this.#seen.revision && !wasSetBack(this.#seen, store)) this.#seen = store;
    if (this.#seen !== this.#saved) this.#saveSoon();
  }

  /**
   * Asks the control plane what of `ids` is gone, once it is obeyed; answers none where that has changed meanwhile. A store that was set
   * back does not know what came after its backup.
   */
  async findGone(
    ids: readonly string[],
    find: (ids: readonly string[]) => Promise<readonly string[]>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    await this.#until(() => this.#isCurrent, signal);
    if (signal.aborted) return [];
    const gone = await find(ids);
    return this.#isCurrent ? gone : [];
  }

  /** Resolves once it is known whether the control plane is obeyed, or when `signal` is aborted. */
  untilJudged(signal: AbortSignal): Promise<void> {
    return this.#until(() => this.#state !== 'unknown', signal);
  }

  #judge(snapshot: AssignmentSnapshot): void {
    const { store, isSetBack = false } = snapshot;
    const before = this.#state;
    const isOlder = isSetBack || (this.#floor !== undefined && wasSetBack(this.#floor, store));
    // What a declaration would change is always compared first. An agent that has seen nothing has nothing to compare with.
    const isHeld = isOlder || before === 'held' || (this.#seen !== undefined && this.#isDeclared(store));
    this.#state = isHeld ? 'held' : 'open';
    this.#isCurrent = !isHeld;
    this.#ignored = isHeld ? snapshot : undefined;
    if (isHeld) {
      this.#seen ??= store; // a declaration shows as a later epoch than this
      if (before !== 'held') this.#save();
      if (isOlder) this.#say();
    } else if (this.#seen === undefined || store.revision > this.#seen.revision) {
      this.#seen = store;
      this.#saveSoon();
    }
    for (const wake of this.#waiters) wake();
  }

  #saveSoon(): void {
    if (this.#env.clock.monotonic() - this.#savedAt >= SAVE_MS) this.#save();
  }

  #save(): void {
    this.#savedAt = this.#env.clock.monotonic();
    this.#saved = this.#seen;
    const seen = this.#seen && { seen: this.#seen };
    const stored: StoredPosition = { tenant: this.#tenant, ...seen, ...(this.isHeld && { isHeld: true }) };
    void this.#env.disk.keep(FILE, JSON.stringify(stored));
  }

  #say(): void {
    if (!this.#isSet) this.#env.log.error(describeSetBack());
    this.#isSet = true;
  }

  #until(isSo: () => boolean, signal: AbortSignal): Promise<void> {
    if (isSo() || signal.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const look = () => {
        if (!isSo() && !signal.aborted) return;
        this.#waiters.delete(look);
        signal.removeEventListener('abort', look);
        resolve();
      };
      this.#waiters.add(look);
      signal.addEventListener('abort', look, { once: true });
    });
  }
}

function isSound({ tenant, seen }: Partial<StoredPosition>): boolean {
  if (typeof tenant !== 'string') return false;
  if (seen === undefined) return true;
  const { revision, restoreEpoch, proof } = seen;
  return Number.isSafeInteger(revision) && Number.isSafeInteger(restoreEpoch) && typeof proof === 'string';
}
