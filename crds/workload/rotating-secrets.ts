import { isDeepStrictEqual } from 'node:util';

import { type FieldRules, rule } from '../rule/index.js';
import { listMaterial } from './brought-material.js';
import type { WorkloadContext as Context } from './context.js';
import { toSecretLabel, type SecretReference } from './secrets.js';

type Loose = { readonly [Part in keyof SecretReference | 'values' | 'generate']?: unknown };

/** While a credential is rotated, its material and who refers to it are the rotation's: both would be changed under it. */
const rotatingIsLeftAlone = rule('secret_rotation_open', (sent: unknown, at, context: Context, refuse) => {
  const { facts, stored } = context;
  const entries = Array.isArray(sent) ? (sent as Loose[]) : [];
  const before = Array.isArray(stored?.['secrets']) ? (stored['secrets'] as SecretReference[]) : [];
  return facts.rotating.flatMap(label => {
    const places = entries.flatMap((entry, position) =>
      toSecretLabel(entry.vault_path) === label
        ? listMaterial(entry, facts).map(part => at.index(position).child(part))
        : [],
    );
    const isRedirected = stored && !isDeepStrictEqual(referring(entries, label), referring(before, label));
    return [...places, ...(isRedirected ? [at] : [])].map(place => refuse(place, label, { label }));
  });
});

function referring(entries: readonly Loose[], label: string) {
  return entries
    .filter(({ vault_path: path }) => toSecretLabel(path) === label)
    .map(({ name, vault_path, anchor }) => ({ name, vault_path, anchor }));
}

/** What may not change while a credential is rotated. */
export const rotatingRules: FieldRules<Context> = {
  field: 'secrets',
  absent: rotatingIsLeftAlone,
  present: [rotatingIsLeftAlone],
};
