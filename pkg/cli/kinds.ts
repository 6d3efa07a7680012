import { findNearestName, formatAge } from '../../crds/grammar/index.js';
import type { Column, Kind } from '../../crds/kind/index.js';
import { findKindByName, kinds, listKindNames } from '../../crds/kinds/index.js';
import { BrokenInvariantFault } from '../fault/index.js';
import { type TokenScope, UsageFault, type Paint } from '../terminal/index.js';
import type { Cell } from './print/table.js';
import { choosePaint } from './print/text.js';

/** What a cell may depend on beside its object. */
export interface CellContext {
  readonly now: number;
  readonly ink: Paint;
}

/** A kind as the command line lists it, derived from its descriptor. */
export interface CliKind {
  /** As events name it: `Deployment`. */
  readonly kind: string;
  readonly descriptor: Kind;
  /** What a person may call it; the first name is the one that lists print. */
  readonly names: readonly string[];
  readonly path: string;
  readonly speaker: TokenScope;
  readonly columns: readonly KindColumn[];
  readonly nameOf: (object: unknown) => string;
  /** The path of one object, by its name. */
  readonly pathOf: (name: string) => string;
}

/** A column of a table on a terminal. */
export interface KindColumn {
  readonly title: string;
  /** Shown with `-o wide` only, and for objects that need attention. */
  readonly wide?: true;
  readonly isWarning: (object: unknown) => boolean;
  readonly cell: (object: unknown, look: CellContext) => Cell;
}

/** The kinds that can be listed. */
export function listKinds(known: readonly Kind[] = kinds): readonly CliKind[] {
  return known.filter(isListed).map(toCliKind);
}

/** Those of them whose objects can be deleted. */
export function listDeletableKinds(known: readonly Kind[] = kinds): readonly CliKind[] {
  return listKinds(known).filter(({ descriptor }) => descriptor.operations.includes('delete'));
}

/** The kind that a person means. */
export function findKind(word: string, known: readonly Kind[] = kinds): CliKind {
  const found = findKindByName(word, known.filter(isListed));
  if (found) return toCliKind(found);
  const nearest = findNearestName(
    word,
    listKinds(known).flatMap(each => each.names),
  );
  const proposal = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  throw new UsageFault(`there is no kind "${word}".${proposal} The kinds are ${joinPlurals(listKinds(known))}.`);
}

/** `deployments, volumes, nodes` */
export function joinPlurals(listed: readonly CliKind[]): string {
  return listed.map(({ descriptor }) => descriptor.plural).join(', ');
}

function isListed({ columns, operations }: Kind): boolean {
  return columns.length > 0 && operations.includes('list');
}

function toCliKind(kind: Kind): CliKind {
  if (kind.path === undefined) throw new BrokenInvariantFault(`${kind.plural} are listed and have no path`);
  return {
    kind: kind.kind,
    descriptor: kind,
    names: listKindNames(kind),
    path: kind.path,
    speaker: kind.scope,
    columns: (kind.columns as readonly Column<unknown>[]).map(toKindColumn),
    pathOf: name => `${kind.path}/${encodeName(name, kind)}`,
    nameOf: object => String((object as Readonly<Record<string, unknown>>)[kind.nameField]),
  };
}

/** A name that has as many parts as the path of an object: `deployments/web-db` for `{namespace}/{resource}`. */
function encodeName(name: string, { singular, item = '{name}' }: Kind): string {
  const wanted = item.split('/');
  if (wanted.length === 1) return encodeURIComponent(name);
  const parts = name.split('/');
  if (parts.length === wanted.length && parts.every(part => !['', '.', '..'].includes(part)))
    return parts.map(encodeURIComponent).join('/');
  const form = item.replaceAll('{', '<').replaceAll('}', '>');
  throw new UsageFault(`"${name}" does not name a ${singular}. Write it as ${form}.`);
}

function toKindColumn({ title, isWide, value, format, isWarning }: Column<unknown>): KindColumn {
  return {
    title,
    ...(isWide && { wide: isWide }),
    isWarning: object => isWarning?.(object) ?? false,
    cell: (object, { now, ink }) => {
      const text = value(object);
      if (format === 'age') return { text: formatAge(text === '' ? undefined : text, now) };
      if (format === 'state') return { text, paint: choosePaint(ink, text) };
      return { text, ...(isWarning?.(object) && { paint: ink.red }) };
    },
  };
}

export const deployments = findKind('deployments');
export const jobs = findKind('jobs');
export const nodes = findKind('nodes');
export const backups = findKind('backups');
export const networks = findKind('networks');
export const volumes = findKind('volumes');
export const secrets = findKind('secrets');
export const events = findKind('events');
export const tenants = findKind('tenants');
export const tokens = findKind('tokens');

/** `a=1, b=2` */
export function formatPairs(map: Readonly<Record<string, string>>): string {
  return Object.entries(map)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}
