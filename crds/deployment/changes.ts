import { isDeepStrictEqual } from 'node:util';

import { isCredential } from '../workload/index.js';
import type { Deployment } from './deployment.js';

/** One field that a write changed, as an event reports it. Null: the field is absent. */
export interface FieldChange {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
}

/** What is known of a write: the first changes, and how many more there are. */
export interface ChangeSummary {
  readonly changes: readonly FieldChange[];
  readonly more: number;
}

const MOST_CHANGES = 20;
const LONGEST_VALUE = 120;

/** Stands for a value that an event must not repeat. */
const HIDDEN = '(hidden)';

/** Fields whose entries are compared one by one. */
const MAPS: ReadonlySet<string> = new Set([
  'environment',
  'labels',
  'composedSecrets',
  'resources',
  'healthCheck',
  'rollout',
]);

/**
 * What differs between two specs, field by field. Values that look like a credential are not repeated, nor are templates of
 * secrets; of references to secrets only the paths are named.
 */
export function summariseChanges(before: Deployment, after: Deployment): ChangeSummary {
  const changes = listChanges(before, after);
  return { changes: changes.slice(0, MOST_CHANGES), more: Math.max(0, changes.length - MOST_CHANGES) };
}

function listChanges(before: Deployment, after: Deployment): readonly FieldChange[] {
  const old: Readonly<Record<string, unknown>> = { ...before };
  const next: Readonly<Record<string, unknown>> = { ...after };
  return listKeys(old, next).flatMap(field => {
    const [from, to] = [old[field], next[field]];
    if (isDeepStrictEqual(from, to)) return [];
    if (!MAPS.has(field)) return [toChange(field, field, from, to)];
    const [fromMap, toMap] = [from, to].map(map => (map ?? {}) as Readonly<Record<string, unknown>>);
    return listKeys(fromMap!, toMap!)
      .map(name => [name, readOwn(fromMap!, name), readOwn(toMap!, name)] as const)
      .filter(([, sent, stored]) => !isDeepStrictEqual(sent, stored))
      .map(([name, sent, stored]) => toChange(field, name, sent, stored));
  });
}

/** Maps have names of users: `toString` is one like any other. */
function readOwn(map: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

function listKeys(...maps: readonly object[]): readonly string[] {
  return [...new Set(maps.flatMap(map => Object.keys(map)))].sort();
}

function toChange(field: string, name: string, from: unknown, to: unknown): FieldChange {
  const isSecret = [from, to].some(each => isHidden(field, name, each));
  const show = (shown: unknown) => (shown === undefined ? null : isSecret ? HIDDEN : formatValue(field, shown));
  return { field: field === name ? field : `${field}.${name}`, from: show(from), to: show(to) };
}

function isHidden(field: string, name: string, shown: unknown): boolean {
  if (field === 'composedSecrets') return true;
  const texts = [shown].flat().filter(each => typeof each === 'string');
  if (texts.some((text, at) => isCredentialArgument(text, texts[at + 1]))) return true;
  return texts.some(text => isCredential(field === 'environment' ? name : '', text));
}

/** Whether an argument of a program, or the one that follows it, holds a credential: `--password=x`, `--password x`. */
function isCredentialArgument(text: string, following = ''): boolean {
  const [, option = '', equals, sent] = /^-{1,2}([A-Za-z][\w.-]{0,63})(?:(=)(.*))?$/s.exec(text) ?? [];
  return option !== '' && isCredential(option, (equals ? sent : following) ?? '');
}

function formatValue(field: string, shown: unknown): string {
  const text =
    field === 'secrets'
      ? (shown as NonNullable<Deployment['secrets']>).map(({ name, vault_path: path }) => `${name}=${path}`).join(', ')
      : typeof shown === 'string'
        ? shown
        : JSON.stringify(shown);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE - 1)}…` : text;
}

/** Changes that a sentence names; all of them are in the data of the event. */
const NAMED = 3;

/** `replicas 2 → 3, image web:1 → web:2, and 2 more`. Empty when nothing has changed. */
export function formatChanges({ changes, more }: ChangeSummary): string {
  const named = changes.slice(0, NAMED).map(({ field, from, to }) => {
    if (from === null) return `${field} set to ${to}`;
    return to === null ? `${field} removed (was ${from})` : `${field} ${from} → ${to}`;
  });
  const left = changes.length - named.length + more;
  return [...named, ...(left > 0 ? [`and ${left} more`] : [])].join(', ');
}
