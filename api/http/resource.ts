import { encode, type Entry, toSoundBytes, value } from '../../pkg/store/index.js';

/**
 * One kind of thing that can be listed and watched.
 *
 * What a client sees of it may be made of two entries with different writers: what is asked for, and what was seen. They
 * share tenant and name, and a change to either is a change to the thing.
 */
export interface Resource {
  /** `deployments/`: what exists. */
  readonly range: string;
  /** `status/`: what is shown beside it, where it has such a thing. */
  readonly joined?: string;
  /** Not in the cache: it is listed from the store, and only its changes are known. */
  readonly isUncached?: true;
  /** The view depends on other objects too, so pages of it are not cached. */
  readonly isVolatile?: true;
  /** The thing as clients see it, in JSON. */
  readonly view: (entry: Entry, joined: Entry | undefined) => Buffer;
}

/** What stored documents of the kinds that are spliced begin with. */
const HEAD = '{"metadata":{';

/**
 * A stored document as clients see it, made from its own bytes: the revision goes into the metadata, and `more` comes
 * after the last field. Nothing is parsed or written again.
 */
export function spliceDocument(entry: Pick<Entry, 'bytes' | 'revision'>, ...more: readonly Buffer[]): Buffer {
  return Buffer.concat([
    Buffer.from(`${HEAD}"revision":"${entry.revision}",`),
    entry.bytes.subarray(HEAD.length, -1),
    ...more,
    CLOSE,
  ]);
}

/** An entry as it can be spliced: of a record that cannot be worked with, the substitute that stands for it. */
export function toSpliceable(entry: Entry): Pick<Entry, 'bytes' | 'revision'> {
  const bytes = toSoundBytes(entry);
  if (bytes.indexOf(HEAD) === 0) return { bytes, revision: entry.revision };
  const { metadata, ...rest } = value<{ readonly metadata: unknown }>(entry);
  return { bytes: encode({ metadata, ...rest }), revision: entry.revision };
}

const STATUS = Buffer.from(',"status":');
const NO_STATUS = Buffer.from('null');

/** A stored document with its status beside it. */
export function spliceStatus(entry: Entry, status: Entry | undefined): Buffer {
  return spliceDocument(toSpliceable(entry), STATUS, status ? toSoundBytes(status) : NO_STATUS);
}

const CLOSE = Buffer.from('}');
const UID = Buffer.from('"uid":"');
const QUOTE = 0x22;

/** The uid that stands first in a stored document, read without parsing the rest. */
export function readUid(bytes: Buffer): string {
  const start = bytes.indexOf(UID) + UID.length;
  return bytes.toString('latin1', start, bytes.indexOf(QUOTE, start));
}

/** Keeps what was made of an entry and of the one shown beside it, for as long as both are the same. */
export function cacheRendered(
  make: (entry: Entry, joined: Entry | undefined) => Buffer,
): (entry: Entry, joined: Entry | undefined) => Buffer {
  const made = new WeakMap<Entry, { readonly joined: Entry | undefined; readonly bytes: Buffer }>();
  return (entry, joined) => {
    const known = made.get(entry);
    if (known && known.joined === joined) return known.bytes;
    const bytes = make(entry, joined);
    made.set(entry, { joined, bytes });
    return bytes;
  };
}
