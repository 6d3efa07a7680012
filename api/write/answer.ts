import { isDeepStrictEqual } from 'node:util';

import { escapePointer } from '../../crds/grammar/index.js';
import type { PatchStep } from '../../crds/rejections/index.js';
import type { Alteration, Warning } from '../../crds/rule/index.js';
import { isFields } from '../http/body.js';
import { buildEtagHeader, JSON_TYPE, replyJson, type WholeReply } from '../http/reply.js';

/** What a write has to say beside the object. */
export interface Remarks {
  readonly alterations?: readonly Alteration[] | undefined;
  readonly warnings?: readonly Warning[] | undefined;
  /** Of a new object. */
  readonly location?: string | undefined;
}

/** Answers a write: the object as it is stored, and everything that the server added or remarked. */
export function replyWritten(
  shown: object,
  revision: number,
  { alterations = [], warnings = [], location }: Remarks,
): WholeReply {
  const bytes = Buffer.isBuffer(shown) ? shown : Buffer.from(JSON.stringify(shown));
  const remarks = `,"alterations":${JSON.stringify(alterations)},"warnings":${JSON.stringify(warnings)}}`;
  const etag = buildEtagHeader(revision);
  const headers = location === undefined ? etag : { location, ...etag };
  const status = location === undefined ? 200 : 201;
  const body = Buffer.concat([bytes.subarray(0, -1), Buffer.from(remarks)]);
  return { status, body, type: JSON_TYPE, headers, alterations };
}

/** What a write would do. */
export interface DryRun extends Remarks {
  /** What is stored now; left out when there is nothing. */
  readonly before?: object | undefined;
  /** What would be stored; left out when it would be deleted. */
  readonly after?: object | undefined;
}

/** Answers what a write would do: the object, and the JSON Patch from what is stored to it. Nothing is stored. */
export function replyDryRun({ before, after, alterations = [], warnings = [] }: DryRun, more?: object): WholeReply {
  const diff = diffJson(before ?? {}, after ?? {});
  const change = after ? (before ? (diff.length === 0 ? 'none' : 'update') : 'create') : 'delete';
  return replyJson(200, { dryRun: true, change, object: after ?? null, alterations, warnings, diff, ...more });
}

/** The JSON Patch (RFC 6902) that makes one document into another. Lists of different length are replaced whole. */
export function diffJson(before: unknown, after: unknown, at = ''): readonly PatchStep[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return after.flatMap((entry: unknown, position) => diffJson(before[position], entry, `${at}/${position}`));
  }
  if (!isFields(before) || !isFields(after)) return [{ op: 'replace', path: at, value: after }];

  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): readonly PatchStep[] => {
    const path = `${at}/${escapePointer(name)}`;
    if (after[name] === undefined) return before[name] === undefined ? [] : [{ op: 'remove', path }];
    if (before[name] === undefined) return [{ op: 'add', path, value: after[name] }];
    return diffJson(before[name], after[name], path);
  });
}
