import { isDeepStrictEqual } from 'node:util';

import type { FieldPath } from '../grammar/index.js';
import { type FieldRules, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';
import { labelOf, type SecretReference } from './secrets.js';

type Loose = { readonly [Part in keyof SecretReference | 'values' | 'generate']?: unknown };

/** While a credential is rotated, its material and who refers to it are the rotation's: both would be changed under it. */
const rotatingIsLeftAlone = rule('secret_rotation_open', (sent: unknown, at, context: Context, refuse) => {
  const { facts, stored } = context;
  const entries = Array.isArray(sent) ? (sent as Loose[]) : [];
  const before = Array.isArray(stored?.['secrets']) ? (stored['secrets'] as SecretReference[]) : [];
  return facts.rotating.flatMap(label => {
    const places = entries.flatMap((entry, position) =>
      labelOf(entry.vault_path) === label ? materialIn(entry, at.index(position), context) : [],
    );
    if (stored && !isDeepStrictEqual(referring(entries, label), referring(before, label))) places.push(at);
    return places.map(place => refuse(place, label, { label }));
  });
});

/** Where an entry brings material that would be written. Keys that have a value are not generated again. */
function materialIn({ vault_path: path, values, generate }: Loose, at: FieldPath, { facts }: Context): FieldPath[] {
  const existing = facts.secretKeys[String(path)] ?? [];
  const { keys } = (generate ?? {}) as { readonly keys?: unknown };
  const mints = Array.isArray(keys) && keys.some(key => !existing.includes(String(key)));
  return [...(values === undefined ? [] : [at.child('values')]), ...(mints ? [at.child('generate')] : [])];
}

function referring(entries: readonly Loose[], label: string) {
  return entries
    .filter(({ vault_path: path }) => labelOf(path) === label)
    .map(({ name, vault_path, anchor }) => ({ name, vault_path, anchor }));
}

/** What may not change while a credential is rotated. */
export const rotatingRules: FieldRules<Context> = {
  field: 'secrets',
  absent: rotatingIsLeftAlone,
  present: [rotatingIsLeftAlone],
};
