import { Entry, type Revision } from '../entry.js';
import type { Lease, WatchEvent } from '../store.js';
import { decodeEntry, decodeHeader, type KeyRange } from './messages.js';
import { ReverseWriter, Reader } from './protobuf.js';

/** One message of a watch. */
export interface WatchResponse {
  readonly revision: Revision;
  readonly clusterId: string;
  readonly watchId: number;
  readonly created: boolean;
  readonly canceled: boolean;
  /** More of the same revision follows in the next message. */
  readonly fragment: boolean;
  /** Without a position: that depends on what came before. */
  readonly events: readonly Omit<WatchEvent, 'position'>[];
}

const OVERHEAD = 64;

/** Asks for everything in a range from a revision on. */
export function encodeWatch({ key, end }: KeyRange, from: Revision): Buffer {
  const writer = new ReverseWriter(Buffer.byteLength(key) + end.length + OVERHEAD);
  const last = writer.at;
  writer.number(0x40, 1); // WatchCreateRequest.fragment
  writer.number(0x18, from); // WatchCreateRequest.start_revision
  writer.bytes(0x12, end); // WatchCreateRequest.range_end
  writer.bytes(0x0a, key); // WatchCreateRequest.key
  writer.close(0x0a, last); // WatchRequest.create_request
  return writer.frame();
}

/** Asks the watches of a stream to say how far they are. */
export function encodeProgress(): Buffer {
  const writer = new ReverseWriter(OVERHEAD);
  writer.close(0x1a, writer.at); // WatchRequest.progress_request
  return writer.frame();
}

/** Reads a `WatchResponse`. `stem` is taken off the keys. */
export function decodeWatch(message: Buffer, stem: string): WatchResponse {
  const reader = new Reader(message);
  const events: Omit<WatchEvent, 'position'>[] = [];
  let header = { revision: 0, clusterId: '' };
  let [watchId, created, canceled, fragment] = [0, false, false, false];
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x0a) header = decodeHeader(reader.message());
    else if (tag === 0x10) watchId = reader.number();
    else if (tag === 0x18) created = reader.number() === 1;
    else if (tag === 0x20) canceled = reader.number() === 1;
    else if (tag === 0x38) fragment = reader.number() === 1;
    else if (tag === 0x5a) events.push(decodeEvent(reader.message(), stem));
    else reader.skip(tag);
  }
  return { ...header, watchId, created, canceled, fragment, events };
}

const DELETE = 1;
const NO_ENTRY = new Entry('', Buffer.alloc(0));

function decodeEvent(reader: Reader, stem: string): Omit<WatchEvent, 'position'> {
  let type = 0;
  let entry = NO_ENTRY;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x08) type = reader.number();
    else if (tag === 0x12) entry = decodeEntry(reader.message(), stem);
    else reader.skip(tag);
  }
  const { key, revision } = entry;
  return { revision, key, entry: type === DELETE ? undefined : entry };
}

/** A `LeaseGrantRequest`; etcd chooses the id. */
export function encodeLeaseGrant(ttlSeconds: number): Buffer {
  const writer = new ReverseWriter(OVERHEAD);
  writer.number(0x08, ttlSeconds); // LeaseGrantRequest.TTL
  return writer.frame();
}

/** A `LeaseRevokeRequest` or a `LeaseKeepAliveRequest`. */
export function encodeLease(id: string): Buffer {
  const writer = new ReverseWriter(OVERHEAD);
  writer.long(0x08, id);
  return writer.frame();
}

/** Reads a `LeaseGrantResponse` or a `LeaseKeepAliveResponse`. A TTL of 0 is not sent: the lease has ended. */
export function decodeLease(message: Buffer): Lease {
  const reader = new Reader(message);
  let [id, ttlSeconds] = ['', 0];
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x10) id = reader.long();
    else if (tag === 0x18) ttlSeconds = reader.number();
    else reader.skip(tag);
  }
  return { id, ttlSeconds };
}
