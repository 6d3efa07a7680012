import { FieldPath } from '../grammar/index.js';
import { describeValue, type Rejection, reject } from '../rejections/index.js';
import type { Alteration } from '../rule/index.js';
import { isKnownField } from './rules.js';

/** What the server adds to a deployment in its answers. A client that sends it back is told that it was not read. */
const READ_ONLY: ReadonlySet<string> = new Set(['metadata', 'status', 'alterations', 'warnings']);

/** A document, taken apart. */
export interface DocumentParts {
  /** What is asked for. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Names of fields sent as `null`: to be removed, or to be left at their default. */
  readonly removed: readonly string[];
  /** The revision the client has seen, when it sent one. */
  readonly ifMatch?: string;
  readonly alterations: readonly Alteration[];
  readonly rejections: readonly Rejection[];
}

/** Separates what a client asks for from what it only sends back. */
export function splitDocument(
  document: Readonly<Record<string, unknown>>,
  supported: ReadonlySet<string>,
): DocumentParts {
  const names = Object.keys(document);
  const readOnly = names.filter(name => READ_ONLY.has(name));
  // A field that nobody knows cannot be removed; it stays in the document and is refused there.
  const removed = names.filter(
    name => document[name] === null && isKnownField(name, supported) && !READ_ONLY.has(name),
  );
  const revision = revisionIn(document['metadata']);
  const isReadable = revision === undefined || typeof revision === 'string';
  return {
    fields: without(document, [...readOnly, ...removed]),
    removed,
    ...(typeof revision === 'string' ? { ifMatch: revision } : {}),
    alterations: readOnly.map(field => ({
      field,
      from: describeValue(document[field]),
      to: null,
      why: 'set by the server only',
    })),
    // A guard that cannot be read must not be passed over: the client relies on it.
    rejections: isReadable ? [] : [reject('field_invalid', REVISION, revision, { wanted: 'a revision, as a string' })],
  };
}

/** Mostly nothing is taken out, and then nothing is copied. */
function without(document: Readonly<Record<string, unknown>>, names: readonly string[]): DocumentParts['fields'] {
  if (names.length === 0) return document;
  const rest = { ...document };
  for (const name of names) delete rest[name];
  return rest;
}

const REVISION = FieldPath.root.child('metadata').child('revision');

function revisionIn(metadata: unknown): unknown {
  if (typeof metadata !== 'object' || metadata === null) return undefined;
  return (metadata as Record<string, unknown>)['revision'] ?? undefined;
}
