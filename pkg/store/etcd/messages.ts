import { Entry, type Revision } from '../entry.js';
import type { Guard, Put } from '../store.js';
import { ReverseWriter, Reader } from './protobuf.js';

/** A change as it is sent to etcd. */
export interface EncodableChange {
  readonly guards: readonly Guard[];
  readonly puts: readonly Put[];
  readonly deletes: readonly string[];
  /** No less than the bytes of its keys and values. */
  readonly size: number;
}

/** What a batch of changes came to. */
export interface BatchResponse {
  readonly revision: Revision;
  /** False when the batch carried an epoch that has been closed: then nothing of it was stored. */
  readonly open: boolean;
  /** One for each change, in order. */
  readonly verdicts: readonly boolean[];
}

/** What to read. */
export interface RangeRequest {
  readonly key: string;
  /** The first key that is not wanted any more; left out, only `key` itself is read. */
  readonly end?: Buffer;
  readonly limit?: number;
  readonly revision?: Revision;
  readonly keysOnly?: boolean;
  /** Read what the member itself has, however old that is, without asking the others. */
  readonly own?: boolean;
}

/** An answer to a range. `stem` is taken off the keys. */
export interface RangeResponse {
  readonly revision: Revision;
  readonly clusterId: string;
  readonly entries: readonly Entry[];
  readonly more: boolean;
}

/** Bytes of tags and lengths that one operation can need beside its key and value. */
const OPERATION_OVERHEAD = 48;

const COMPARE_CREATE = 1;
const COMPARE_MOD = 2;
const COMPARE_GREATER = 1;

/**
 * One outer transaction whose success list holds one nested transaction for each change, so that each is judged on
 * its own. It is applied only while the epoch's key does not exist: see `Epochs`. All keys stand below `root`.
 */
export function encodeBatch(
  root: string,
  epochKey: string,
  changes: readonly EncodableChange[],
  { isFree = false } = {},
): Buffer {
  const perOperation = OPERATION_OVERHEAD + root.length;
  let size = 2 * (perOperation + epochKey.length);
  for (const { guards, puts, deletes, size: own } of changes) {
    size += own + perOperation * (1 + guards.length + puts.length + deletes.length);
  }
  const writer = new ReverseWriter(size, root);
  if (!isFree && changes.some(({ puts }) => puts.length > 0)) writeCost(writer, epochKey);
  for (const change of changes.toReversed()) {
    const end = writer.at;
    for (const key of change.deletes.toReversed()) writeDelete(writer, key);
    for (const put of change.puts.toReversed()) writePut(writer, put);
    for (const guard of change.guards) writeCompare(writer, guard);
    writer.close(0x22, end); // RequestOp.request_txn
    writer.close(0x12, end); // TxnRequest.success
  }
  writeCompare(writer, { key: epochKey, at: 0 });
  return writer.frame();
}

/**
 * A put in the list for a closed epoch. etcd's quota does not count nested transactions, so without it a batch would cost
 * nothing and be taken when the quota is reached. Should it be carried out, the key exists, and keeps its value and lease.
 * Batches that only delete go without: they must be taken to recover from a full database.
 */
function writeCost(writer: ReverseWriter, epochKey: string): void {
  const end = writer.at;
  writer.number(0x38, 1); // PutRequest.ignore_lease
  writer.number(0x30, 1); // PutRequest.ignore_value
  writer.key(0x0a, epochKey); // PutRequest.key
  writer.close(0x12, end); // RequestOp.request_put
  writer.close(0x1a, end); // TxnRequest.failure
}

function writeDelete(writer: ReverseWriter, key: string): void {
  const end = writer.at;
  writer.key(0x0a, key); // DeleteRangeRequest.key
  writer.close(0x1a, end); // RequestOp.request_delete_range
  writer.close(0x12, end); // TxnRequest.success
}

function writePutFields(writer: ReverseWriter, { key, bytes, lease }: Put): void {
  if (lease !== undefined) writer.long(0x18, lease); // PutRequest.lease
  writer.bytes(0x12, bytes); // PutRequest.value
  writer.key(0x0a, key); // PutRequest.key
}

function writePut(writer: ReverseWriter, put: Put): void {
  const end = writer.at;
  writePutFields(writer, put);
  writer.close(0x12, end); // RequestOp.request_put
  writer.close(0x12, end); // TxnRequest.success
}

function writeCompare(writer: ReverseWriter, guard: Guard): void {
  const end = writer.at;
  if ('at' in guard)
    writer.number(0x30, guard.at); // Compare.mod_revision
  else writer.number(0x28, 'created' in guard ? guard.created : 0); // Compare.create_revision
  writer.key(0x1a, guard.key); // Compare.key
  writer.number(0x10, 'at' in guard ? COMPARE_MOD : COMPARE_CREATE); // Compare.target
  if ('exists' in guard) writer.number(0x08, COMPARE_GREATER); // Compare.result; EQUAL is the default
  writer.close(0x0a, end); // TxnRequest.compare
}

/** One put without any guard: only for keys that have a single writer. */
export function encodePut(root: string, put: Put): Buffer {
  const writer = new ReverseWriter(
    root.length + Buffer.byteLength(put.key) + put.bytes.length + OPERATION_OVERHEAD,
    root,
  );
  writePutFields(writer, put);
  return writer.frame();
}

/** Reads the answer to `encodeBatch`. */
export function decodeBatch(message: Buffer): BatchResponse {
  const reader = new Reader(message);
  const verdicts: boolean[] = [];
  let revision = 0;
  let open = false;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x0a) revision = decodeHeader(reader.message()).revision;
    else if (tag === 0x10) open = reader.number() === 1;
    else if (tag === 0x1a) verdicts.push(decodeVerdict(reader.message()));
    else reader.skip(tag);
  }
  return { revision, open, verdicts };
}

function decodeVerdict(operation: Reader): boolean {
  let stored = false; // protobuf does not send false
  for (let tag = operation.next(); tag !== 0; tag = operation.next()) {
    if (tag !== 0x22) {
      operation.skip(tag);
      continue;
    }
    const nested = operation.message();
    for (let field = nested.next(); field !== 0; field = nested.next()) {
      if (field === 0x10) stored = nested.number() === 1;
      else nested.skip(field);
    }
  }
  return stored;
}

export function encodeRange({ key, end, limit, revision, keysOnly, own }: RangeRequest): Buffer {
  const writer = new ReverseWriter(Buffer.byteLength(key) + (end?.length ?? 0) + OPERATION_OVERHEAD);
  if (keysOnly) writer.number(0x40, 1);
  if (own) writer.number(0x38, 1); // RangeRequest.serializable
  if (revision !== undefined) writer.number(0x20, revision);
  if (limit !== undefined) writer.number(0x18, limit);
  if (end) writer.bytes(0x12, end);
  writer.bytes(0x0a, key);
  return writer.frame();
}

/** Reads the answer to a range. `stem` is taken off the keys: it is plain ASCII. */
export function decodeRange(message: Buffer, stem: string): RangeResponse {
  const reader = new Reader(message);
  const entries: Entry[] = [];
  let header = { revision: 0, clusterId: '' };
  let more = false;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x0a) header = decodeHeader(reader.message());
    else if (tag === 0x12) entries.push(decodeEntry(reader.message(), stem));
    else if (tag === 0x18) more = reader.number() === 1;
    else reader.skip(tag);
  }
  return { ...header, entries, more };
}

/** Reads a `ResponseHeader`. */
export function decodeHeader(reader: Reader): { revision: Revision; clusterId: string } {
  let revision = 0;
  let clusterId = '';
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x08) clusterId = reader.long();
    else if (tag === 0x18) revision = reader.number();
    else reader.skip(tag);
  }
  return { revision, clusterId };
}

/** Reads a `KeyValue`. */
export function decodeEntry(reader: Reader, stem: string): Entry {
  let key = '';
  let created = 0;
  let revision = 0;
  let bytes: Buffer = EMPTY;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x0a) key = reader.text(stem.length);
    else if (tag === 0x10) created = reader.number();
    else if (tag === 0x18) revision = reader.number();
    else if (tag === 0x2a)
      bytes = Buffer.from(reader.bytes()); // a view would keep the whole page in memory
    else reader.skip(tag);
  }
  return new Entry(key, bytes, revision, created);
}

const EMPTY = Buffer.alloc(0);

/** A request that says nothing. */
export function encodeNothing(): Buffer {
  return new ReverseWriter(0).frame();
}

/** All keys that begin with `prefix`: from it, up to but without `end`. */
export interface KeyRange {
  readonly key: string;
  readonly end: Buffer;
}

/** The range of all keys below a prefix, in the order of bytes. */
export function toRangeBelow(prefix: string): KeyRange {
  const end = Buffer.from(prefix);
  end[end.length - 1]!++; // a prefix ends in `/`, never in the highest byte
  return { key: prefix, end };
}

/** The smallest key after `key`. */
export function computeKeyAfter(key: string): string {
  return `${key}\0`;
}

/** A `CompactionRequest` that is answered when the file of the member is written. */
export function encodeCompaction(revision: Revision): Buffer {
  const writer = new ReverseWriter(OPERATION_OVERHEAD);
  writer.number(0x10, 1);
  writer.number(0x08, revision);
  return writer.frame();
}
