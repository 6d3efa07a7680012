import type { KeyChange } from './records.js';

/** What etcd stored, so that it can be asked what stood where at a revision. */
export class StoredState {
  readonly #keys = new Map<string, KeyChange[]>();
  readonly #revisions = new Map<number, KeyChange[]>();

  constructor(events: readonly KeyChange[]) {
    for (const event of events) {
      append(this.#keys, event.key, event);
      append(this.#revisions, event.revision, event);
    }
  }

  /** The revisions at which something was stored, ascending. */
  get revisions(): readonly number[] {
    return [...this.#revisions.keys()];
  }

  get keys(): Iterable<string> {
    return this.#keys.keys();
  }

  /** Everything that was stored at one revision. */
  at(revision: number): readonly KeyChange[] {
    return this.#revisions.get(revision) ?? [];
  }

  /** All changes of a key, in order. */
  changesOf(key: string): readonly KeyChange[] {
    return this.#keys.get(key) ?? [];
  }

  /** The last change of a key up to and with a revision; undefined when there was none. */
  latest(key: string, revision: number): KeyChange | undefined {
    return this.changesOf(key).findLast(event => event.revision <= revision);
  }

  /** The revision of the key's entry just before a revision; 0 when it did not exist. */
  revisionBefore(key: string, revision: number): number {
    const event = this.latest(key, revision - 1);
    return event?.bytes === undefined ? 0 : event.revision;
  }
}

function append<Key>(map: Map<Key, KeyChange[]>, key: Key, event: KeyChange): void {
  const events = map.get(key);
  if (events) events.push(event);
  else map.set(key, [event]);
}
