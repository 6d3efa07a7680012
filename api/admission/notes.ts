import { isDeepStrictEqual } from 'node:util';

import type { Metadata, ObjectNotes } from '../../crds/meta/index.js';
import { type Change, encode, type Entry, value } from '../../pkg/store/index.js';

/** Metadata with other notes. Undefined leaves those that it has. */
export function withNotes(metadata: Metadata, notes: ObjectNotes | undefined): Metadata {
  if (!notes) return metadata;
  const { annotations: _annotations, fieldOwners: _fieldOwners, ...identity } = metadata;
  return { ...identity, ...notes };
}

/** The change that stores other notes and nothing else, with the bytes of the record; undefined when they are the same. */
export function buildNotesChange(
  entry: Entry,
  notes: ObjectNotes,
): { readonly change: Change; readonly bytes: Buffer } | undefined {
  const { metadata, ...spec } = value<{ readonly metadata: Metadata }>(entry);
  const next = withNotes(metadata, notes);
  if (isDeepStrictEqual(next, metadata)) return undefined;
  const bytes = encode({ metadata: next, ...spec });
  return {
    change: { guards: [{ key: entry.key, at: entry.revision }], puts: [{ key: entry.key, bytes }], deletes: [] },
    bytes,
  };
}
