import { type Static, Type } from 'typebox';

import { isRelativePath, isSecretLabel, parseAnchor, parseSecretPath } from '../grammar/index.js';
import {
  annotate,
  type FieldRules,
  fixByRemoval,
  fixByValue,
  forEachEntry,
  forPart,
  rule,
  type Warning,
} from '../rule/index.js';
import { findProvidedAndGenerated, generateRules, generateSchema, valuesRules, valuesSchema } from '../secret/index.js';
import type { WorkloadContext as Context, WorkloadFacts } from './context.js';

/** A reference to a credential, as it is stored: never with material. */
export interface SecretReference {
  /** What the names of its variables begin with: each key arrives as `NAME_key`. */
  readonly name: string;
  /** `<namespace>/<label>`. */
  readonly vault_path: string;
  /** `process`, `external` or `volume(vol_…)`. */
  readonly anchor: string;
  readonly rotation: 'restart';
}

const SECRETS_MAX = 64;
const byRules = annotate({ 'x-rules': true, 'x-quoted': true });

export const secretsSchema = Type.Array(
  Type.Object(
    {
      name: Type.String({
        pattern: '^[A-Za-z0-9_]{1,128}$',
        ...annotate({ 'x-reject': 'secret_name_invalid', 'x-quoted': true }),
      }),
      // The length bounds what the rules below read; longer is no path in any case.
      vault_path: Type.String({ maxLength: 256, ...byRules }),
      anchor: Type.String({ maxLength: 128, ...byRules }),
      rotation: Type.Optional(
        Type.Literal('restart', annotate({ 'x-reject': 'secret_rotation_unsupported', 'x-quoted': true })),
      ),
      mount_path: Type.Optional(Type.Unsafe<never>({ not: {}, ...byRules, ...annotate({ 'x-transient': true }) })),
      values: Type.Optional(valuesSchema),
      generate: Type.Optional(generateSchema),
    },
    {
      additionalProperties: false,
      ...annotate({ 'x-expected': 'an object with name, vault_path and anchor' }),
    },
  ),
  {
    maxItems: SECRETS_MAX,
    ...annotate({ 'x-redact': 'throughout', 'x-expected': `a list of at most ${SECRETS_MAX} secret entries` }),
  },
);

/** Entries as a client sends them, once the rules have passed them. */
export type SecretsInput = Static<typeof secretsSchema>;

/** An entry of which nothing is known yet. */
type Loose = { readonly [Part in keyof SecretsInput[number]]?: unknown };

const pathIsThere = rule('secret_vault_path_required', ({ vault_path: path }: Loose, at, refuse) =>
  path === undefined || path === null || path === '' ? refuse(at.child('vault_path'), path) : undefined,
);

const pathIsRelative = rule(
  'secret_vault_path_not_relative',
  ({ vault_path: path }: Loose, at, refuse, { facts }: Context) => {
    if (typeof path !== 'string' || isRelativePath(path)) return undefined;
    const error = refuse(at.child('vault_path'), path);
    const rest = path.replace(/^\/+/, '');
    const { namespace, label } = parseSecretPath(rest) ?? { namespace: '', label: '' };
    const isMeant = facts.secretsPolicy.namespaces.includes(namespace) && isSecretLabel(label);
    return isMeant ? fixByValue(error, rest) : error;
  },
);

const pathHasShape = rule('secret_path_shape', ({ vault_path: path }: Loose, at, refuse, { facts }: Context) =>
  typeof path === 'string' && parseSecretPath(path)
    ? undefined
    : refuse(at.child('vault_path'), path, { granted: facts.secretsPolicy.namespaces }),
);

const namespaceIsGranted = rule(
  'secret_path_namespace',
  ({ vault_path: path }: Loose, at, refuse, { facts }: Context) => {
    const parsed = typeof path === 'string' ? parseSecretPath(path) : undefined;
    const granted = facts.secretsPolicy.namespaces;
    return !parsed || granted.includes(parsed.namespace)
      ? undefined
      : refuse(at.child('vault_path'), path, { granted });
  },
);

const labelIsLabel = rule('secret_path_name', ({ vault_path: path }: Loose, at, refuse) => {
  const parsed = typeof path === 'string' ? parseSecretPath(path) : undefined;
  return !parsed || isSecretLabel(parsed.label) ? undefined : refuse(at.child('vault_path'), path);
});

const anchorIsAnchor = rule('secret_anchor_invalid', ({ anchor }: Loose, at, refuse) =>
  typeof anchor === 'string' && parseAnchor(anchor) ? undefined : refuse(at.child('anchor'), anchor),
);

const nothingIsMounted = rule('secret_mount_path_unsupported', ({ mount_path: path }: Loose, at, refuse) =>
  path === undefined ? undefined : fixByRemoval(refuse(at.child('mount_path'), path)),
);

const externalIsLeftAlone = rule('secret_external_not_writable', (entry: Loose, at, refuse, context: Context) => {
  const brought = (['values', 'generate'] as const).filter(part => entry[part] !== undefined);
  const written = () => (isExternalElsewhere(entry, context) ? listMaterial(entry, context.facts) : []);
  return (entry.anchor === 'external' ? brought : written()).map(part =>
    fixByRemoval(refuse(at.child(part), entry[part])),
  );
});

/** Whether another entry, of this document or of another deployment, says that the credential is managed elsewhere. */
function isExternalElsewhere({ vault_path: path }: Loose, context: Context): boolean {
  const entries = context.document['secrets'] as readonly Loose[];
  if (entries.some(entry => entry.anchor === 'external' && entry.vault_path === path)) return true;
  return othersIn(context).some(({ externalPaths }) => externalPaths.includes(path as string));
}

/** The tenant's other deployments. */
function othersIn({ facts, kind, name }: Context): Context['facts']['deployments'] {
  return facts.deployments.filter(other => kind === 'Job' || other.name !== name);
}

const keysAreApart = rule('secret_key_provided_and_generated', (entry: Loose, at, refuse) =>
  findProvidedAndGenerated(entry.values, entry.generate, at.child('generate'), refuse),
);

const oneNamespace = rule('secret_path_namespace_split', (entries: readonly Loose[], at, refuse, context: Context) => {
  const known = new Map(
    othersIn(context).flatMap(other =>
      other.secretPaths.map(path => [toSecretLabel(path), { path, user: `deployment ${other.name}` }]),
    ),
  );
  return entries.flatMap(({ vault_path: path }, position) => {
    const label = toSecretLabel(path);
    if (label === undefined) return [];
    const first = known.get(label);
    if (!first) known.set(label, { path: path as string, user: `secrets[${position}]` });
    return !first || first.path === path ? [] : refuse(at.index(position).child('vault_path'), path, first);
  });
});

/** The label of a path that has its form. */
export function toSecretLabel(path: unknown): string | undefined {
  const label = typeof path === 'string' ? parseSecretPath(path)?.label : undefined;
  return label !== undefined && isSecretLabel(label) ? label : undefined;
}

const entryRules = [
  pathIsThere,
  pathIsRelative,
  pathHasShape,
  namespaceIsGranted,
  labelIsLabel,
  anchorIsAnchor,
  nothingIsMounted,
  externalIsLeftAlone,
  ...valuesRules.map(values => forPart('values', values)),
  ...generateRules.map(generate => forPart('generate', generate)),
  keysAreApart,
].map(entryRule => forEachEntry(entryRule));

export const secretsRules: FieldRules<Context> = { field: 'secrets', present: [...entryRules, oneNamespace] };

/** An entry as far as it brings material; every part may be anything. */
export interface EntryMaterial {
  readonly vault_path?: unknown;
  readonly values?: unknown;
  readonly generate?: unknown;
}

/** The parts of an entry that would be written. Keys that have a value are not generated again. */
export function listMaterial(
  { vault_path: path, values, generate }: EntryMaterial,
  { secretKeys }: Pick<WorkloadFacts, 'secretKeys'>,
): readonly ('values' | 'generate')[] {
  const existing: readonly unknown[] =
    typeof path === 'string' && Object.hasOwn(secretKeys, path) ? secretKeys[path]! : [];
  const { keys } = (generate ?? {}) as { readonly keys?: unknown };
  const mints = Array.isArray(keys) && keys.some(key => !existing.includes(key));
  return [...(values === undefined ? [] : (['values'] as const)), ...(mints ? (['generate'] as const) : [])];
}

/** Which credentials an update takes away from a workload: a list that is sent shorter drops them without any fault. */
export function warnDroppedSecrets(
  before: readonly SecretReference[] = [],
  after: readonly SecretReference[] = [],
): readonly Warning[] {
  const isKept = ({ name, vault_path: path }: SecretReference) =>
    after.some(other => other.name === name && other.vault_path === path);
  return before
    .filter(reference => !isKept(reference))
    .map(({ name, vault_path: path }) => ({
      code: 'secret_reference_dropped',
      field: 'secrets',
      message: `${name} (${path}) is no longer referred to: containers made from now on go without its variables`,
    }));
}
