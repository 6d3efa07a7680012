import { isDeepStrictEqual } from 'node:util';

import { hashSpec, type Metadata, type ObjectNotes } from '../../crds/meta/index.js';
import { nextMetadata } from '../../pkg/history/index.js';
import { encode, type Entry, type Put, value } from '../../pkg/store/index.js';
import { formatTraceparent, type Span } from '../../pkg/trace/index.js';
import type { ApiCall } from '../http/route.js';

/** The request that an object is written by, and when. */
interface Occasion {
  readonly call: Pick<ApiCall, 'tenant' | 'span' | 'toNotes'>;
  readonly now: string;
}

/** The metadata of a new object. */
export function newMetadata({ call, now }: Occasion, uid: string, spec: object, specHash = hashSpec(spec)): Metadata {
  const { tenant } = call;
  const identity = { tenant, uid, generation: 1, createdAt: now, updatedAt: now, specHash };
  return withNotes({ ...identity, ...toTraceMetadata(call.span) }, call.toNotes?.(spec));
}

/** The metadata of the next configuration of an object. It is not part of the trace of the last one. */
export function changedMetadata(
  { call, now }: Occasion,
  metadata: Metadata,
  spec: object,
  specHash = hashSpec(spec),
): Metadata {
  const next = { ...nextMetadata(metadata, specHash, Date.parse(now)), ...toTraceMetadata(call.span) };
  return withNotes(next, call.toNotes?.(spec));
}

/** What the metadata of an object says of the request that it was written by; nothing when that is not traced. */
export function toTraceMetadata(span: Span | undefined): Pick<Metadata, 'traceparent'> {
  return span ? { traceparent: formatTraceparent(span.context) } : {};
}

/** Metadata with other notes. Undefined leaves those that it has. */
export function withNotes(metadata: Metadata, notes: ObjectNotes | undefined): Metadata {
  if (!notes) return metadata;
  const { annotations: _annotations, fieldOwners: _fieldOwners, ...identity } = metadata;
  return { ...identity, ...notes };
}

/** The put that stores other notes with an object and nothing else; undefined when they are the same. */
export function putNotes(entry: Entry, notes: ObjectNotes): Put | undefined {
  const { metadata, ...spec } = value<{ readonly metadata: Metadata }>(entry);
  const next = withNotes(metadata, notes);
  return isDeepStrictEqual(next, metadata) ? undefined : { key: entry.key, bytes: encode({ metadata: next, ...spec }) };
}
