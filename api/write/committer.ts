import { keys } from '../../crds/keys/index.js';
import type { EventDraft, EventLeases, EventWriter } from '../../pkg/events/index.js';
import { asError } from '../../pkg/fault/index.js';
import {
  type Cache,
  type Change,
  encode,
  type Entry,
  type Guard,
  LeaseGoneFault,
  OutcomeUnknownFault,
  type Put,
  StoreUnavailableFault,
  type Verdict,
} from '../../pkg/store/index.js';
import { inSpan } from '../../pkg/trace/index.js';
import type { RequestRejection } from '../http/reply.js';
import type { ApiCall } from '../http/route.js';
import { KeyedMutex } from './keyed-mutex.js';
import { commitWithMaterial, type MaterialCommitEnv, type SubmittedMaterial } from './material.js';

/** A put of a write. With `seconds` the record vanishes when they have passed. */
export interface PlannedPut extends Put {
  readonly seconds?: number;
}

/** What a write stores, together or not at all. Nothing of it, and nothing is stored. */
export interface PlannedChange {
  /** The record that the write is about: what answers show. */
  readonly record?: PlannedPut;
  /** What the record is put over, when that is not the entry that the call is about. */
  readonly over?: Entry | undefined;
  readonly puts?: readonly PlannedPut[];
  readonly deletes?: readonly string[];
  /** What must still hold, beside the entry that the call is about, what the record is put over, and the conflict keys. */
  readonly guards?: readonly Guard[];
  readonly events?: readonly EventDraft[];
  /** Secret material that came with the document. */
  readonly material?: SubmittedMaterial | undefined;
  /** The put that proves that it was stored, when that is not the first event. */
  readonly proof?: string;
}

/** Conflict keys, and the guards that fail when one has changed since it was read. */
export interface ReadConflict {
  readonly keys: readonly string[];
  readonly guards: readonly Guard[];
}

/** Reads conflict keys. To be called before everything that is read under them. */
export function readConflict(cache: Pick<Cache, 'get'>, conflictKeys: readonly string[]): ReadConflict {
  return { keys: conflictKeys, guards: conflictKeys.map(key => ({ key, at: cache.get(key)?.revision ?? 0 })) };
}

interface CommitterEnv extends MaterialCommitEnv {
  readonly cache: Cache;
  readonly events: EventWriter;
  readonly eventLeases: EventLeases;
  /** Of conflict keys: they outlive every request, but not by much. */
  readonly conflictLeases: EventLeases;
}

/**
 * The only one that changes the store on behalf of a user. Routes hold it, and hand it to `write`: what they read from has no
 * `commit`.
 */
export class Committer {
  readonly #env: CommitterEnv;
  readonly #mutex = new KeyedMutex();

  constructor(env: CommitterEnv) {
    this.#env = env;
  }

  /** Does the work when no other request of this server is under way that has one of the keys. */
  inTurn<Result>(conflictKeys: readonly string[], work: () => Promise<Result>): Promise<Result> {
    return this.#mutex.run(conflictKeys, work);
  }

  /** Commits a plan. Not stored where something has changed since it was judged: it is then to be judged again. */
  async commit(
    call: ApiCall,
    stored: Entry | undefined,
    plan: PlannedChange,
    conflict: ReadConflict,
  ): Promise<Verdict | RequestRejection> {
    try {
      const change = await this.#build(call, stored, plan, conflict);
      const { material } = plan;
      return await inSpan(call.span, 'commit', () =>
        material ? commitWithMaterial(this.#env, call, change, material) : this.#env.store.commit(change),
      );
    } catch (thrown) {
      if (!(thrown instanceof LeaseGoneFault)) throw thrown;
      this.discardLeases();
      return { stored: false };
    }
  }

  /** Drops leases that the store may not know any more: what comes next gets others. */
  discardLeases(): void {
    this.#env.eventLeases.discard();
    this.#env.conflictLeases.discard();
  }

  async #build(
    { tenant, requestId }: ApiCall,
    stored: Entry | undefined,
    plan: PlannedChange,
    conflict: ReadConflict,
  ): Promise<Change> {
    const { record, over, puts = [], deletes = [], guards = [], events = [] } = plan;
    const drafts = await Promise.all(events.map(draft => this.#env.events.put(draft)));
    const isOwn = record === undefined || record.key === stored?.key;
    const mustExist = !isOwn && !over && tenant !== '';
    const proof = plan.proof ?? drafts[0]?.key;
    const all = record ? [record, ...puts] : puts;
    return {
      guards: [
        ...(isOwn ? [] : [{ key: record.key, at: over?.revision ?? 0 }]),
        ...(stored ? [{ key: stored.key, at: stored.revision }] : []),
        ...(mustExist ? [{ key: keys.tenant(tenant), exists: true } as const] : []),
        ...guards,
        ...conflict.guards,
      ],
      puts: [
        ...(all.some(({ seconds }) => seconds !== undefined) ? await this.#grantLeases(all) : all),
        ...drafts,
        ...(conflict.keys.length > 0 ? await this.#putConflictKeys(conflict.keys, requestId) : []),
      ],
      deletes,
      ...(proof !== undefined && { proof }),
    };
  }

  #grantLeases(puts: readonly PlannedPut[]): Promise<readonly Put[]> {
    const leased = puts.map(async ({ seconds, ...put }) =>
      seconds === undefined ? put : { ...put, lease: (await this.#env.store.grant(seconds)).id },
    );
    return Promise.all(leased);
  }

  /** Puts that change the conflict keys, so that concurrent writes fail. They are on a lease, since only these need them. */
  async #putConflictKeys(conflictKeys: readonly string[], by: string): Promise<readonly Put[]> {
    const lease = await this.#env.conflictLeases.current();
    return conflictKeys.map(key => ({ key, bytes: encode({ by }), lease }));
  }

  /** Stores an event of what has happened elsewhere. */
  async announce(draft: EventDraft): Promise<void> {
    const event = await this.#env.events.put(draft);
    await this.#env.store.commit({ guards: [{ key: event.key, at: 0 }], puts: [event], deletes: [] });
  }

  /** Leaves a record for others while `work` lasts, and no longer than so many seconds. */
  async leave<Result>({ key, bytes }: Put, seconds: number, work: () => Promise<Result>): Promise<Result> {
    const { store, log } = this.#env;
    const lease = await store.grant(seconds);
    const working = work();
    await store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes, lease: lease.id }], deletes: [] });
    const result = await working;
    store
      .revoke(lease.id)
      .catch((thrown: unknown) => log.debug('a record is left to its lease', { key, error: asError(thrown) }));
    return result;
  }

  /** Removes records that are not written any more. */
  async purge(entries: readonly Entry[]): Promise<void> {
    const guards = entries.map(({ key, revision }) => ({ key, at: revision }));
    await this.#env.store.commit({ guards, puts: [], deletes: entries.map(({ key }) => key) });
  }
}

/**
 * Waits until the cache shows a write that was made. One that it does not show in time cannot be answered for here, but
 * was stored: saying that the store is unavailable would promise that it was not.
 */
export async function waitUntilCached(cache: Pick<Cache, 'reached'>, revision: number): Promise<void> {
  try {
    await cache.reached(revision);
  } catch (thrown) {
    if (thrown instanceof StoreUnavailableFault) throw new OutcomeUnknownFault({ cause: thrown });
    throw thrown;
  }
}
