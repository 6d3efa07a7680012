import { isDeepStrictEqual } from 'node:util';

import { isLabelKey } from '../../crds/grammar/index.js';
import { redactReceived, reject, type Rejection } from '../../crds/rejections/index.js';
import { guardPersisted } from '../../crds/secret/index.js';
import { isCredential } from '../../crds/workload/index.js';
import { parseJson } from '../../pkg/json/index.js';
import { type Fields, isFields } from '../http/body.js';

export const ANNOTATIONS_MAX = 64;
/** Of all keys and values together: they are stored with the object, and every process that reads it holds them. */
export const ANNOTATIONS_BYTES_MAX = 64 * 1024;

/** An object that is nested deeper is no document of ours. */
const APPLIED_LIMITS = { maxDepth: 64, maxTokens: 20_000, maxKeyLength: 4_096 };
/** Tools that are not kubectl keep what they applied under keys of their own. */
const JSON_START = /^\s*[{[]/;
/** Where client-side `kubectl apply` keeps the file that it applied last. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** What is wrong with the annotations that a client wants to be kept, unless they are kept already. */
export function checkAnnotations(annotations: Fields = {}, stored?: Fields): readonly Rejection[] {
  const entries = Object.entries(annotations);
  if (isDeepStrictEqual(annotations, stored)) return [];
  const bytes = entries.reduce((sum, [key, text]) => sum + Buffer.byteLength(key) + measure(text), 0);
  if (bytes > ANNOTATIONS_BYTES_MAX) {
    return [reject('document_too_large', 'metadata.annotations', `${bytes} bytes`, { max: ANNOTATIONS_BYTES_MAX })];
  }
  if (entries.length > ANNOTATIONS_MAX) {
    return [refuse('metadata.annotations', annotations, `at most ${ANNOTATIONS_MAX} annotations`)];
  }
  const others = entries.filter(([key, text]) => text !== stored?.[key]);
  return others.flatMap(([key, text]): readonly Rejection[] => {
    const at = `metadata.annotations.${key}`;
    if (!isLabelKey(key)) return [refuse(at, key, 'a key of the form [prefix/]name')];
    if (typeof text !== 'string') return [refuse(at, text, 'a text')];
    const isApplied = key === LAST_APPLIED;
    const document = isApplied || JSON_START.test(text) ? parseJson(Buffer.from(text), APPLIED_LIMITS) : undefined;
    if (isApplied && !document?.ok) return [refuse(at, text, 'the object that was applied, as JSON')];
    const isRefused =
      (document?.ok && holdsMaterial(document.value)) || (!isApplied && isCredential(key.split('/').at(-1)!, text));
    return isRefused ? [reject('annotation_holds_credential', at, text)] : [];
  });
}

function refuse(field: string, received: unknown, wanted: string): Rejection {
  return redactReceived(reject('field_invalid', field, received, { wanted }), received);
}

function measure(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}

/** Whether a part of what was applied holds what no document may hold as it is stored. */
function holdsMaterial(part: unknown): boolean {
  if (Array.isArray(part)) return part.some(holdsMaterial);
  if (!isFields(part)) return false;
  const { environment } = part;
  const variables = isFields(environment) ? Object.entries(environment) : [];
  return (
    guardPersisted(part) !== undefined ||
    variables.some(([name, each]) => typeof each === 'string' && isCredential(name, each)) ||
    Object.values(part).some(holdsMaterial)
  );
}
