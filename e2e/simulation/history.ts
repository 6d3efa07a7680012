import { expect } from 'chai';

import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type Entry, type MemoryStore, value, type WatchEvent } from '../../pkg/store/index.js';
import type { Answer } from './front.js';

/** A change of a deployment that a user asks for. */
export interface UserIntent {
  readonly op: string;
  readonly kind: 'create' | 'change' | 'delete';
  readonly tenant: string;
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** One key that a transaction has changed. */
export interface StoreChange {
  readonly key: string;
  readonly before: Entry | undefined;
  readonly entry: Entry | undefined;
}

/** Throws when a transaction broke it. The history already contains the transaction. */
export type Invariant = (changes: readonly StoreChange[], history: History) => void;

/**
 * Everything that was ever stored, seen from inside the store, and what may never be seen there: the promises, and that
 * a write that was acknowledged is there once, one that was refused never, one with an unknown outcome at most once.
 */
export class History {
  /** Uids of replicas whose record went with their node, or with a restore of the store: a container may be left of them. */
  readonly givenUp = new Set<string>();
  /** By kind, the first part of a key: most questions are about few of them. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #nodes = new Map<string, StoredNode>();
  readonly #replicas = new Map<string, Replica>();
  readonly #stamps = new Map<string, Set<number>>();
  readonly #writes = new Map<string, number>();
  readonly #tickets = new Set<string>();
  readonly #asked: { readonly intent: UserIntent; readonly told: Answer['told'] }[] = [];
  readonly #invariants: readonly Invariant[];
  #changes = 0;
  #secretChanges = 0;
  #violation: Error | undefined;

  constructor(server: MemoryStore, invariants: readonly Invariant[] = []) {
    this.#invariants = invariants;
    void server.follow(
      {
        onReset: ({ entries }) => this.#reset(entries),
        onEvents: events => this.#onEvents(events),
        onConnected: () => undefined,
      },
      {},
      new AbortController().signal,
    );
  }

  /** How many nodes there ever were. */
  get enrolled(): number {
    return this.#nodes.size;
  }

  /** How many tickets were used. */
  get delivered(): number {
    return this.#tickets.size;
  }

  /** How often a credential has changed. */
  get secretChanges(): number {
    return this.#secretChanges;
  }

  /** How often something has changed, beside the notes of leaders that they are at work. */
  get changes(): number {
    return this.#changes;
  }

  /** The present entries of a range. */
  entries(range: string): readonly Entry[] {
    const all = [...this.#kind(range).values()];
    return range.indexOf('/') === range.length - 1 ? all : all.filter(({ key }) => key.startsWith(range));
  }

  /** The present documents of a range. */
  all<T>(range: string): readonly T[] {
    return this.entries(range).map(entry => value<T>(entry));
  }

  /** The present document of a key. */
  get<T>(key: string): T | undefined {
    const entry = this.#kind(key).get(key);
    return entry && value<T>(entry);
  }

  #kind(key: string): Map<string, Entry> {
    const kind = key.slice(0, key.indexOf('/'));
    const known = this.#entries.get(kind);
    if (known) return known;
    const made = new Map<string, Entry>();
    this.#entries.set(kind, made);
    return made;
  }

  /** A node as it last was, be it gone. */
  node(id: string): StoredNode | undefined {
    return this.#nodes.get(id);
  }

  /** A replica as it last was, be it gone. */
  replica(uid: string): Replica | undefined {
    return this.#replicas.get(uid);
  }

  /** Whether a replica was ever to be made from this version of its credential. */
  wasStamped(uid: string, version: number | undefined): boolean {
    return version !== undefined && (this.#stamps.get(uid)?.has(version) ?? false);
  }

  answered(intent: UserIntent, told: Answer['told']): void {
    this.#asked.push({ intent, told });
  }

  /** Secrets were handed out for a ticket. */
  handedOut(ticket: string): void {
    if (this.#tickets.has(ticket)) this.#violation ??= new Error(`ticket ${ticket} was used twice`);
    this.#tickets.add(ticket);
  }

  /** Throws the first thing that may not be and was. */
  inspect(): void {
    if (this.#violation) throw this.#violation;
  }

  /** Compares the answers that users got with what was stored. */
  checkAnswers(): void {
    for (const { intent, told } of this.#asked) {
      const times = this.#writes.get(intent.op) ?? 0;
      // A delete of an object that is being deleted is acknowledged.
      if (told === 'stored' && intent.kind !== 'delete') expect(times, `${intent.op} was acknowledged`).to.equal(1);
      if (told === 'refused') expect(times, `${intent.op} was refused`).to.equal(0);
      expect(times, `${intent.op} was asked for once`).to.be.at.most(1);
    }
  }

  /** The store was restored: what became of a replica that it does not know any more is unknown to it. */
  #reset(entries: readonly Entry[]): void {
    this.#entries.clear();
    for (const entry of entries) this.#kind(entry.key).set(entry.key, entry);
    const known = new Set(this.all<Replica>(ranges.replicas).map(({ uid }) => uid));
    for (const uid of this.#replicas.keys()) {
      if (known.has(uid)) this.givenUp.delete(uid);
      else this.givenUp.add(uid);
    }
  }

  #onEvents(events: readonly WatchEvent[]): void {
    const changes = events.map(({ key, entry }) => this.#apply(key, entry));
    try {
      for (const holds of this.#invariants) holds(changes, this);
    } catch (thrown) {
      this.#violation ??= thrown as Error;
    }
  }

  #apply(key: string, entry: Entry | undefined): StoreChange {
    const kind = this.#kind(key);
    const before = kind.get(key);
    if (entry) kind.set(key, entry);
    else kind.delete(key);
    if (entry && key.startsWith(ranges.nodes)) this.#nodes.set(value<StoredNode>(entry).id, value<StoredNode>(entry));
    if (entry && key.startsWith(ranges.replicas)) this.#remember(value<Replica>(entry));
    if (entry && key.startsWith(ranges.archives)) {
      const { operation } = value<{ readonly operation: string }>(entry);
      this.#writes.set(operation, (this.#writes.get(operation) ?? 0) + 1);
    }
    if (!key.startsWith(ranges.leaders) && !key.startsWith(ranges.platform)) this.#changes++;
    if (key.startsWith(ranges.secrets)) this.#secretChanges++;
    return { key, before, entry };
  }

  #remember(replica: Replica): void {
    this.#replicas.set(replica.uid, replica);
    const stamps = this.#stamps.get(replica.uid) ?? new Set();
    for (const version of Object.values(replica.resolved?.versions ?? {})) stamps.add(version);
    this.#stamps.set(replica.uid, stamps);
  }
}
