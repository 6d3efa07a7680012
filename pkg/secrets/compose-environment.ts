import { parseTemplate, type TemplatePart } from '../../crds/grammar/index.js';
import { Secret } from './secret.js';
import type { SecretDocument } from './secret-store.js';

/** One entry of a deployment's secrets: every key of the credential is delivered as `<name>_<key>`. */
export interface DeliveredSecret {
  readonly name: string;
  readonly label: string;
}

/** Material that a deployment asks for and that is not there: a key, or the whole document when no key is named. */
export interface MissingMaterial {
  readonly label: string;
  readonly key?: string;
}

/** Everything that stands in the way of an environment. Names only, no value. */
export interface IncompleteEnvironment {
  readonly kind: 'incomplete';
  readonly missing: readonly MissingMaterial[];
  /** Names that two variables would have. */
  readonly collisions: readonly string[];
  /** Names that cannot be a variable, or whose value cannot: a NUL in it, or too long for the system. */
  readonly unusable: readonly string[];
}

/** The whole environment, or why there is none. */
export type CompositionResult =
  | { readonly kind: 'composed'; readonly environment: ReadonlyMap<string, Secret> }
  | IncompleteEnvironment;

const NAME = /^[A-Za-z0-9_]+$/;

/** Linux refuses to start a program with a `NAME=value` longer than this, its closing zero included. */
const VARIABLE_BYTES = 131_072;

/**
 * Builds the environment that a container's secrets amount to: all of it or nothing.
 *
 * `documents` are found by label, `templates` are the composed secrets by variable, and `taken` are the names of the
 * constants that the container gets besides.
 */
export function composeEnvironment(
  entries: readonly DeliveredSecret[],
  templates: Readonly<Record<string, string>>,
  documents: ReadonlyMap<string, SecretDocument>,
  taken: readonly string[] = [],
): CompositionResult {
  const gaps: Gaps = { missing: new Map(), unusable: new Set() };
  const variables = [
    ...entries.flatMap(entry => delivered(entry, documents, gaps)),
    ...Object.entries(templates).flatMap(([name, template]) => composed(name, template, documents, gaps)),
  ];
  for (const [name, secret] of variables) if (!isUsable(name, secret)) gaps.unusable.add(name);
  const names = [...taken, ...variables.map(([name]) => name)];
  const collisions = new Set(names.filter((name, position) => names.indexOf(name) !== position));

  if (gaps.missing.size + gaps.unusable.size + collisions.size === 0) {
    return { kind: 'composed', environment: new Map(variables) };
  }
  const missing = [...gaps.missing.values()];
  return { kind: 'incomplete', missing, collisions: [...collisions].sort(), unusable: [...gaps.unusable].sort() };
}

type Variable = readonly [name: string, secret: Secret];
type Documents = ReadonlyMap<string, SecretDocument>;

/** What was found wanting so far. */
interface Gaps {
  readonly missing: Map<string, MissingMaterial>;
  readonly unusable: Set<string>;
}

function delivered({ name, label }: DeliveredSecret, documents: Documents, gaps: Gaps): readonly Variable[] {
  const document = documents.get(label);
  if (!document) gaps.missing.set(label, { label });
  return [...(document ?? [])].map(([key, secret]) => [`${name}_${key}`, secret]);
}

/** One variable, or none when a part of it is missing. */
function composed(name: string, template: string, documents: Documents, gaps: Gaps): readonly Variable[] {
  const parts = parseTemplate(template);
  if (!parts) gaps.unusable.add(name);
  const texts = parts?.map(part => textOf(part, documents, gaps));
  return !texts || texts.includes(undefined) ? [] : [[name, new Secret(texts.join(''))]];
}

function textOf(part: TemplatePart, documents: Documents, { missing }: Gaps): string | undefined {
  if ('text' in part) return part.text;
  const { resource: label, key } = part;
  const document = documents.get(label);
  const secret = document?.get(key);
  if (!document) missing.set(label, { label });
  else if (!secret) missing.set(`${label}.${key}`, { label, key });
  return secret?.reveal();
}

function isUsable(name: string, secret: Secret): boolean {
  if (!NAME.test(name)) return false;
  return Buffer.byteLength(name) + secret.size + '=\0'.length <= VARIABLE_BYTES && !secret.reveal().includes('\0');
}
