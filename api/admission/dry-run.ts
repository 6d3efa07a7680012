import { isDeepStrictEqual } from 'node:util';

import type { PatchStep } from '../../crds/rejections/index.js';
import type { Alteration, Warning } from '../../crds/rule/index.js';
import { replyJson, type WholeReply } from '../http/reply.js';

/** The answer to a dry run: what the write would do. Nothing is stored. */
export interface DryRunAnswer {
  readonly dryRun: true;
  readonly change: 'create' | 'update' | 'delete' | 'none';
  /** What would be stored. */
  readonly object: unknown;
  readonly alterations: readonly Alteration[];
  readonly warnings: readonly Warning[];
  /** From what is stored to what would be, as a JSON Patch. */
  readonly diff: readonly PatchStep[];
}

/** A dry run before its diff is computed. */
export interface DryRunResult {
  /** What is stored now; left out when there is nothing. */
  readonly before?: object;
  /** What would be stored; left out when it would be deleted. */
  readonly after?: object;
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
  /** Further fields of this kind. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Answers what a write would do. */
export function replyDryRun({ before, after, alterations = [], warnings = [], more }: DryRunResult): WholeReply {
  const diff = diffJson(before ?? {}, after ?? {});
  const trial: DryRunAnswer = {
    dryRun: true,
    change: after ? (before ? (diff.length === 0 ? 'none' : 'update') : 'create') : 'delete',
    object: after ?? null,
    alterations,
    warnings,
    diff,
    ...more,
  };
  return replyJson(200, trial);
}

type Fields = Readonly<Record<string, unknown>>;

/** The JSON Patch (RFC 6902) that makes one document into another. Lists of different length are replaced whole. */
export function diffJson(before: unknown, after: unknown, at = ''): readonly PatchStep[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return after.flatMap((entry: unknown, position) => diffJson(before[position], entry, `${at}/${position}`));
  }
  if (!isFields(before) || !isFields(after)) return [{ op: 'replace', path: at, value: after }];

  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): readonly PatchStep[] => {
    const path = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (after[name] === undefined) return before[name] === undefined ? [] : [{ op: 'remove', path }];
    if (before[name] === undefined) return [{ op: 'add', path, value: after[name] }];
    return diffJson(before[name], after[name], path);
  });
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
