import { FieldPath } from '../grammar/index.js';
import { type FieldRules, type Finding, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';

type Map = Readonly<Record<string, unknown>>;
type Loose = {
  readonly name?: unknown;
  readonly vault_path?: unknown;
  readonly values?: Map;
  readonly generate?: { readonly keys?: unknown };
};

/** Something that sets a variable. */
interface Setter {
  readonly variable: string;
  readonly at: FieldPath;
  /** How a refusal of another setter names this one. */
  readonly as: string;
}

/** Everything that sets a variable, as far as it is known: in the order of the fields. */
function settersOf(document: Map, secretKeys: Readonly<Record<string, readonly string[]>>): readonly Setter[] {
  const map = (field: string) =>
    Object.keys((document[field] ?? {}) as Map).map(variable => {
      const at = FieldPath.root.child(field).child(variable);
      return { variable, at, as: at.toString() };
    });
  const entries = (Array.isArray(document['secrets']) ? document['secrets'] : []) as readonly Loose[];
  const secrets = entries.flatMap((entry, position) => {
    const at = FieldPath.root.child('secrets').index(position).child('name');
    if (typeof entry.name !== 'string') return [];
    const prefix = entry.name;
    const delivered = keysOf(entry, secretKeys).map(key => `${prefix}_${key}`);
    return [...delivered, prefixMark(prefix)].map(variable => ({ variable, at, as: `secrets[${position}]` }));
  });
  return [...map('environment'), ...secrets, ...map('composedSecrets')];
}

/** No variable has this name: it makes two entries of one name meet, whatever their keys are. */
function prefixMark(prefix: string): string {
  return `${prefix}=`;
}

/** The keys of an entry that are known now: those that exist, that are given and that are to be generated. */
function keysOf({ vault_path: path, values, generate }: Loose, known: Readonly<Record<string, readonly string[]>>) {
  const existing = typeof path === 'string' && Object.hasOwn(known, path) ? known[path]! : [];
  const generated = Array.isArray(generate?.keys) ? (generate.keys as unknown[]) : [];
  return [...new Set([...existing, ...Object.keys(values ?? {}), ...generated.map(String)])];
}

const variablesAreDistinct = rule('environment_name_conflict', (_value: unknown, _at, context: Context, refuse) => {
  const first = new Map<string, Setter>();
  const findings = new Map<string, Finding>();
  for (const setter of settersOf(context.document, context.facts.secretKeys)) {
    const other = first.get(setter.variable);
    if (!other) first.set(setter.variable, setter);
    else if (!findings.has(setter.as)) findings.set(setter.as, refuse(setter.at, setter.variable, { other: other.as }));
  }
  return [...findings.values()];
});

/** One rule for all fields that set variables: it is asked once, under the first of them that is there. */
export const variablesRules: FieldRules<Context> = {
  field: 'environment',
  with: ['secrets', 'composedSecrets'],
  absent: variablesAreDistinct,
  present: [variablesAreDistinct],
};
