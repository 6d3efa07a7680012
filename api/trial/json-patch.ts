import { isDeepStrictEqual } from 'node:util';

import type { PatchStep } from '../../crds/rejections/index.js';

type Fields = Readonly<Record<string, unknown>>;

/** The JSON Patch (RFC 6902) that makes one document into another. Lists of different length are replaced whole. */
export function jsonPatch(before: unknown, after: unknown, at = ''): readonly PatchStep[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return after.flatMap((entry: unknown, position) => jsonPatch(before[position], entry, `${at}/${position}`));
  }
  if (!isFields(before) || !isFields(after)) return [{ op: 'replace', path: at, value: after }];

  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): readonly PatchStep[] => {
    const path = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (after[name] === undefined) return before[name] === undefined ? [] : [{ op: 'remove', path }];
    if (before[name] === undefined) return [{ op: 'add', path, value: after[name] }];
    return jsonPatch(before[name], after[name], path);
  });
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
