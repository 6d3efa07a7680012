import { repairRecord } from '../../crds/stored/index.js';

/**
 * Orders changes. etcd's revisions are 64-bit, but one write per microsecond would need 285 years to pass
 * 2^53, so a number holds them; on the wire to clients they are strings.
 */
export type Revision = number;

/**
 * One stored document, exactly as it stands in the store. Immutable: a change makes a new entry.
 *
 * An entry keeps its document itself once that was read. A weak map of them costs each garbage collection: a placement
 * took a tenth more processor time with one.
 */
export class Entry {
  readonly key: string;
  readonly bytes: Buffer;
  /** The revision of the last change. */
  readonly revision: Revision;
  /** The revision that created the key; it changes when the key is deleted and made again. */
  readonly created: Revision;
  #document: unknown;
  /** Empty when the record is sound, and undefined until it was read. */
  #fault: string | undefined;

  constructor(key: string, bytes: Buffer, revision: Revision = 0, created: Revision = revision) {
    this.key = key;
    this.bytes = bytes;
    this.revision = revision;
    this.created = created;
  }

  /** The same with other bytes, of which nothing was read. */
  withBytes(bytes: Buffer): Entry {
    return new Entry(this.key, bytes, this.revision, this.created);
  }

  /** The parsed document, or a substitute for one that cannot be worked with. Shared by all who ask. */
  get document(): unknown {
    if (this.#document === undefined) this.#document = this.#read();
    return this.#document;
  }

  /** What is wrong with the record, for people; undefined when it can be worked with. Keeps no document. */
  get fault(): string | undefined {
    if (this.#fault === undefined) this.#read();
    return this.#fault || undefined;
  }

  #read(): unknown {
    const { document, fault = '' } = repairRecord(this.key, parseJson(this.bytes));
    this.#fault = fault;
    return document;
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
