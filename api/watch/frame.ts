import type { CacheChange, Entry } from '../../pkg/store/index.js';
import { formatCursor } from '../http/listing.js';
import type { Resource } from '../http/resource.js';

/**
 * A place in the order of all changes: after the change at `position` of `revision`, or, in a list that was being read
 * at `revision`, after the object called `name`.
 */
export interface WatchCursor {
  readonly revision: number;
  /** Infinite when the whole revision has been seen. */
  readonly position: number;
  /** Only inside a list: it had been delivered up to here. */
  readonly name?: string;
  /** The restore epoch it was given in: a store that was restored counts from an older revision again. */
  readonly epoch?: number;
}

const FORM = /^(\d{1,15})(?:\.(\d{1,9})|:([A-Za-z0-9][A-Za-z0-9._-]{0,252}))?(?:~([0-9a-z]{1,11}))?$/;

/** The place after everything that happened at a revision. */
export function createCursorAfter(revision: number): WatchCursor {
  return { revision, position: Number.POSITIVE_INFINITY };
}

/** Reads a cursor that a client sent back. */
export function parseCursor(text: string): WatchCursor | undefined {
  const [, revision, position, name, epoch] = FORM.exec(text) ?? [];
  if (revision === undefined) return undefined;
  return {
    ...createCursorAfter(Number(revision)),
    ...(position !== undefined && { position: Number(position) }),
    ...(name !== undefined && { name }),
    ...(epoch !== undefined && { epoch: Number.parseInt(epoch, 36) }),
  };
}

/** Whether the first place is before the second. */
export function isBefore(a: WatchCursor, b: WatchCursor): boolean {
  return a.revision === b.revision ? a.position < b.position : a.revision < b.revision;
}

/** The two entries that a thing is made of. */
export interface JoinedEntry {
  readonly entry: Entry;
  readonly joined: Entry | undefined;
}

export type ChangeType = 'added' | 'modified' | 'deleted';

/** How lines are written. */
export type WatchFormat = 'ndjson' | 'sse';

/**
 * One change to one object. Its lines are encoded when the first watcher needs them, and are the
 * same bytes for all.
 */
export class WatchFrame implements WatchCursor {
  readonly revision: number;
  readonly position: number;
  readonly resource: Resource;
  /** The range of the tenant: `deployments/<tenant>/`. */
  readonly topic: string;
  readonly name: string;
  readonly type: ChangeType;
  readonly current: JoinedEntry;
  /** How the thing was before; undefined when it did not exist. One of the two exists. */
  readonly before: JoinedEntry | undefined;
  /** How much memory it keeps, roughly. */
  readonly bytes: number;
  readonly #lines: { ndjson?: Buffer; sse?: Buffer } = {};

  constructor(change: CacheChange, resource: Resource, before: JoinedEntry | undefined, now: JoinedEntry | undefined) {
    this.revision = change.revision;
    this.position = change.position;
    this.resource = resource;
    const shown = (now ?? before)!;
    const { key } = shown.entry;
    const slash = key.lastIndexOf('/') + 1;
    this.topic = key.slice(0, slash);
    this.name = key.slice(slash);
    this.current = detach(shown);
    this.before = before && detach(before);
    this.bytes = FRAME_BYTES + countBytes(shown) + (before ? countBytes(before) : 0);
    // Of what is not cached the state before is unknown.
    const existed = before !== undefined || shown.entry.created !== shown.entry.revision;
    this.type = now ? (existed ? 'modified' : 'added') : 'deleted';
  }

  formatLine(format: WatchFormat, epoch: number | undefined): Buffer {
    const cursor = formatCursor(`${this.revision}.${this.position}`, epoch);
    const { entry, joined } = this.current;
    this.#lines[format] ??= encodeFrameLine(format, this.type, cursor, this.resource.view(entry, joined));
    return this.#lines[format];
  }
}

const FRAME_BYTES = 512;

function countBytes({ entry, joined }: JoinedEntry): number {
  return entry.bytes.length + (joined?.bytes.length ?? 0);
}

/** Copies of the entries, without the parsed document and the views that are kept for as long as an entry is. */
function detach({ entry, joined }: JoinedEntry): JoinedEntry {
  return { entry: entry.withBytes(entry.bytes), joined: joined?.withBytes(joined.bytes) };
}

const NO_OBJECT = Buffer.from('null');

/** Encodes one line of a watch. */
export function encodeFrameLine(
  format: WatchFormat,
  type: ChangeType | 'bookmark' | 'gone',
  cursor: string,
  object: Buffer = NO_OBJECT,
): Buffer {
  const [before, end] = format === 'ndjson' ? ['', '}\n'] : [`id: ${cursor}\ndata: `, '}\n\n'];
  return Buffer.concat([
    Buffer.from(`${before}{"type":"${type}","cursor":"${cursor}","object":`),
    object,
    Buffer.from(end),
  ]);
}

/** The frame of a change in the store; undefined when it does not concern the resource. */
export function toWatchFrame(
  change: CacheChange,
  resource: Resource,
  get: (key: string) => Entry | undefined,
): WatchFrame | undefined {
  const { range, joined: joinedRange } = resource;
  const { key, entry, previous } = change;
  if (key.startsWith(range)) {
    const joined = joinedRange === undefined ? undefined : get(joinedRange + key.slice(range.length));
    const before = previous && { entry: previous, joined };
    const now = entry && { entry, joined };
    return (before ?? now) && new WatchFrame(change, resource, before, now);
  }
  if (joinedRange === undefined || !key.startsWith(joinedRange)) return undefined;
  const owner = get(range + key.slice(joinedRange.length));
  if (!owner) return undefined; // deleted together with its object, which has its own frame
  return new WatchFrame(change, resource, { entry: owner, joined: previous }, { entry: owner, joined: entry });
}
