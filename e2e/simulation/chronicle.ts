import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges, segmentsOf } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { type Entry, type Happening, type MemoryStore, value } from '../../pkg/store/index.js';
import type { Ask, Told } from './model-api.js';

/**
 * Everything that was ever stored, seen from inside the store, and what may never be seen there.
 *
 * - a write that was acknowledged is there once, one that was refused never, one that nobody could answer for at most once
 * - a deployment's record goes only after its deletion was asked for
 * - a replica gets its node once, of its own tenant, and once retiring stays so; a slot is emptied before it is refilled
 * - a replica that has a node goes only when its agent has said that the container is gone, or when its node was lost
 */
export class Chronicle {
  readonly #entries = new Map<string, Entry>();
  readonly #nodes = new Map<string, StoredNode>();
  readonly #writes = new Map<string, number>();
  readonly #givenUp = new Set<string>();
  readonly #asked: { readonly wish: Ask; readonly told: Told }[] = [];
  #violation: Error | undefined;

  constructor(server: MemoryStore) {
    void server.follow(
      {
        reset: ({ entries }) => entries.forEach(entry => this.#entries.set(entry.key, entry)),
        happened: happenings => happenings.forEach(each => this.#note(each)),
        connected: () => undefined,
      },
      {},
      new AbortController().signal,
    );
  }

  /** The present documents of a range. */
  all<T>(range: string): readonly T[] {
    return [...this.#entries].filter(([key]) => key.startsWith(range)).map(([, entry]) => value<T>(entry));
  }

  /** The present document of a key. */
  get<T>(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry && value<T>(entry);
  }

  /** Uids of replicas whose record was removed because their node was lost: a container may be left of them. */
  get givenUp(): ReadonlySet<string> {
    return this.#givenUp;
  }

  answered(wish: Ask, told: Told): void {
    this.#asked.push({ wish, told });
  }

  /** Throws the first thing that may not be and was. */
  inspect(): void {
    if (this.#violation) throw this.#violation;
  }

  /** Holds what users were told against what was stored. */
  checkAnswers(): void {
    for (const { wish, told } of this.#asked) {
      const times = this.#writes.get(wish.op) ?? 0;
      if (told === 'stored') expect(times, `${wish.op} was acknowledged`).to.equal(1);
      if (told === 'refused') expect(times, `${wish.op} was refused`).to.equal(0);
      if (told === 'unknown') expect(times, `${wish.op} was left open`).to.be.at.most(1);
    }
  }

  #note({ key, entry }: Happening): void {
    const before = this.#entries.get(key);
    if (entry) this.#entries.set(key, entry);
    else this.#entries.delete(key);
    try {
      if (key.startsWith(ranges.deployments)) this.#noteDeployment(before, entry);
      if (key.startsWith(ranges.replicas)) this.#noteReplica(before, entry);
      if (entry && key.startsWith(ranges.nodes)) this.#nodes.set(value<StoredNode>(entry).id, value<StoredNode>(entry));
      expect(key.startsWith(ranges.reports) && entry ? segmentsOf(key).length : 3, key).to.equal(3);
    } catch (thrown) {
      this.#violation ??= thrown as Error;
    }
  }

  #noteDeployment(before: Entry | undefined, entry: Entry | undefined): void {
    const op = entry && value<StoredDeployment>(entry).labels?.['op'];
    if (op !== undefined) this.#writes.set(op, (this.#writes.get(op) ?? 0) + 1);
    if (before && !entry)
      expect(value<StoredDeployment>(before).metadata.deletedAt, 'deleted unasked').to.be.a('string');
  }

  #noteReplica(before: Entry | undefined, entry: Entry | undefined): void {
    const was = before && value<Replica>(before);
    const is = entry && value<Replica>(entry);
    if (is?.nodeId) expect(this.#nodes.get(is.nodeId)?.metadata.tenant, 'placed across tenants').to.equal(is.tenant);
    if (was?.nodeId && !is) this.#noteEmptied(was);
    if (!was || !is) return;
    expect(is.uid, 'a slot was refilled before it was emptied').to.equal(was.uid);
    if (was.nodeId) expect(is.nodeId, 'a placed replica was moved').to.equal(was.nodeId);
    if (was.retiringSince) expect(is.retiringSince, 'a retiring replica was revived').to.equal(was.retiringSince);
  }

  #noteEmptied({ uid, tenant, nodeId = '' }: Replica): void {
    const node = this.#nodes.get(nodeId)!;
    const lost = this.get<NodeStatus>(keys.nodeStatus(tenant, node.name))?.lost;
    if (lost) this.#givenUp.add(uid);
    else expect(this.get<Report>(keys.report(tenant, nodeId, uid))?.state, 'emptied unasked').to.equal('removed');
  }
}
