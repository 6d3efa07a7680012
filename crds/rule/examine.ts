import type { TObject } from 'typebox';

import { FieldPath } from '../grammar/index.js';
import type { Rejection } from '../rejections/index.js';
import type { FieldRules, Finding, Found, Rule } from './rule.js';
import { type Flaw, shapeOf } from './shape.js';
import { without } from './without.js';

/** Most rejections in one answer: enough for a person to work on, and a bound on what a hostile body can cause. */
export const REJECTIONS_MAX = 200;

/** Lists what is wrong with a document. `asks` says which fields are in question; all of them when left out. */
export type Examination<Facts> = (
  document: unknown,
  facts: Facts,
  asks?: (field: string) => boolean,
) => readonly Rejection[];

/**
 * Makes the examination of a kind from its schema and the rules of its fields.
 *
 * Shape comes first, and rules see only what has it: a value of the wrong shape is refused once and then counts as
 * unknown, so no rule can add a second complaint about the same place. The order of the answer is the order of
 * `fields`, then the order of the schema; fields that nobody knows come last.
 */
export function examination<Facts>(schema: TObject, fields: readonly FieldRules<Facts>[]): Examination<Facts> {
  const shape = shapeOf(schema);
  const rank = ranking(schema, fields);
  return (document, facts, asks = () => true) => {
    const flaws = shape(document).filter(({ at }) => at.parts.length === 0 || asks(String(at.parts[0])));
    if (flaws[0]?.at.parts.length === 0) return [flaws[0].finding().rejection];

    const [byRules, broken] = [flaws.filter(flaw => flaw.byRules), flaws.filter(flaw => !flaw.byRules)];
    const sound = without(
      document as Record<string, unknown>,
      broken.map(flaw => flaw.at),
    );
    const asked = fields.filter(({ field }) => asks(field));
    const found = asked.flatMap(rules => applied(rules, sound, facts)).filter(outside(broken));
    const unclaimed = byRules.filter(outside(found.map(({ at }) => ({ at, pointer: at.toPointer() }))));
    return [...broken, ...unclaimed, ...firstOfEach(found)]
      .map(entry => ({ entry, rank: rank(entry.at) }))
      .sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1])
      .slice(0, REJECTIONS_MAX)
      .map(({ entry }) => ('finding' in entry ? entry.finding().rejection : entry.rejection));
  };
}

function applied<Facts>(rules: FieldRules<Facts>, document: Record<string, unknown>, facts: Facts): readonly Finding[] {
  const value = document[rules.field];
  const at = FieldPath.root.child(rules.field);
  if (value === undefined) return listed(rules.absent?.check(value, at, facts));
  return rules.present.flatMap(rule => listed((rule as unknown as Rule<unknown, Facts>).check(value, at, facts)));
}

function listed(found: Found): readonly Finding[] {
  if (found === undefined) return [];
  return 'rejection' in found ? [found] : found;
}

/** Keeps what lies neither at, nor inside, nor around any of the given places. */
function outside(places: readonly Pick<Flaw, 'at' | 'pointer'>[]): (entry: { readonly at: FieldPath }) => boolean {
  const pointers = new Set(places.map(({ pointer }) => pointer));
  const around = new Set<string>();
  for (const { at } of places) {
    for (let length = 1; length < at.parts.length; length += 1) around.add(at.upTo(length).toPointer());
  }
  return ({ at }) => {
    for (let length = 1; length <= at.parts.length; length += 1) {
      if (pointers.has(at.upTo(length).toPointer())) return false;
    }
    return !around.has(at.toPointer());
  };
}

function firstOfEach(found: readonly Finding[]): readonly Finding[] {
  const first = new Map<string, Finding>();
  for (const finding of found) {
    const pointer = finding.at.toPointer();
    if (!first.has(pointer)) first.set(pointer, finding);
  }
  return [...first.values()];
}

type Ranked = { readonly properties?: Readonly<Record<string, unknown>> };

function ranking<Facts>(schema: TObject, fields: readonly FieldRules<Facts>[]): (at: FieldPath) => [number, number] {
  const properties = schema.properties as Readonly<Record<string, Ranked>>;
  const order = [...new Set([...fields.map(({ field }) => field), ...Object.keys(properties)])];
  return at => {
    const [outer, inner] = at.parts;
    const position = order.indexOf(String(outer));
    if (position < 0) return [order.length, 0];
    if (typeof inner === 'number') return [position, inner];
    const within = Object.keys(properties[String(outer)]?.properties ?? {});
    if (inner === undefined) return [position, -1];
    return [position, within.includes(inner) ? within.indexOf(inner) : within.length];
  };
}
