import { parseTemplate, type TemplatePart } from '../../crds/grammar/index.js';
import { Secret } from './secret.js';
import type { SecretDocument } from './secret-store.js';

/** One entry of a deployment's secrets: every key of the credential is delivered as `<name>_<key>`. */
export interface DeliveredSecret {
  readonly name: string;
  readonly label: string;
}

/** A missing key that a deployment refers to, or a whole missing document when no key is named. */
export interface MissingMaterial {
  readonly label: string;
  readonly key?: string;
}

/** Every reason why an environment is incomplete. Names only, no value. */
export interface IncompleteEnvironment {
  readonly kind: 'incomplete';
  readonly missing: readonly MissingMaterial[];
  /** Names that several variables would have. */
  readonly collisions: readonly string[];
  /** Variables with an invalid name, a NUL in the value, or more bytes than Linux accepts. */
  readonly unusable: readonly string[];
}

export type CompositionResult =
  | { readonly kind: 'composed'; readonly environment: ReadonlyMap<string, Secret> }
  | IncompleteEnvironment;

const NAME = /^[A-Za-z0-9_]+$/;

/** Linux refuses to start a program with a `NAME=value` longer than this, its closing zero included. */
const VARIABLE_BYTES = 131_072;

/**
 * Builds the secret environment of a container: all of it or nothing.
 *
 * `documents` are keyed by label, `templates` are the composed secrets by variable, and `taken` are the names of the
 * container's constants.
 */
export function composeEnvironment(
  entries: readonly DeliveredSecret[],
  templates: Readonly<Record<string, string>>,
  documents: ReadonlyMap<string, SecretDocument>,
  taken: readonly string[] = [],
): CompositionResult {
  const gaps: Gaps = { missing: new Map(), unusable: new Set() };
  const variables = [
    ...entries.flatMap(entry => readEntry(entry, documents, gaps)),
    ...Object.entries(templates).flatMap(([name, template]) => composeTemplate(name, template, documents, gaps)),
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

interface Gaps {
  readonly missing: Map<string, MissingMaterial>;
  readonly unusable: Set<string>;
}

function readEntry({ name, label }: DeliveredSecret, documents: Documents, gaps: Gaps): readonly Variable[] {
  const document = documents.get(label);
  if (!document) gaps.missing.set(label, { label });
  return [...(document ?? [])].map(([key, secret]) => [`${name}_${key}`, secret]);
}

/** One variable, or none when a part of it is missing. */
function composeTemplate(name: string, template: string, documents: Documents, gaps: Gaps): readonly Variable[] {
  const parts = parseTemplate(template);
  if (!parts) gaps.unusable.add(name);
  const texts = parts?.map(part => readPart(part, documents, gaps));
  return !texts || texts.includes(undefined) ? [] : [[name, new Secret(texts.join(''))]];
}

function readPart(part: TemplatePart, documents: Documents, { missing }: Gaps): string | undefined {
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
