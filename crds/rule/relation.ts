/** A value that a condition compares with. */
type Literal = string | number | boolean;

/** A statement about the fields of one object: rules judge documents by it, and CEL says the same to a Kubernetes cluster. */
export type FieldCondition =
  | { readonly has: string }
  /** Absent, or a list without entries. */
  | { readonly isEmpty: string }
  /** Absent counts as `byDefault`, and as nothing without one. */
  | { readonly field: string; readonly isOneOf: readonly Literal[]; readonly byDefault?: Literal }
  | { readonly field: string; readonly isAbove: number }
  | { readonly not: FieldCondition }
  | { readonly all: readonly FieldCondition[] };

/** What fields of one object may not say together. */
export interface Relation {
  /** The field that is refused. */
  readonly field: string;
  readonly forbidden: FieldCondition;
  /** What is accepted instead, in words. */
  readonly wanted: string;
}

type Holder = Readonly<Record<string, unknown>>;

/** Whether an object says what it may not. */
export function isBroken({ forbidden }: Relation, object: Holder): boolean {
  return holds(forbidden, object);
}

function holds(condition: FieldCondition, object: Holder): boolean {
  if ('all' in condition) return condition.all.every(each => holds(each, object));
  if ('not' in condition) return !holds(condition.not, object);
  if ('has' in condition) return isThere(object[condition.has]);
  if ('isEmpty' in condition) {
    const list = object[condition.isEmpty];
    return !isThere(list) || (Array.isArray(list) && list.length === 0);
  }
  const value = object[condition.field];
  if ('isAbove' in condition) return typeof value === 'number' && value > condition.isAbove;
  return condition.isOneOf.includes((isThere(value) ? value : condition.byDefault) as Literal);
}

/** `null` removes a field, so it is none. */
function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The same as an expression of CEL about `self` that is true of what is accepted. */
export function toCel({ forbidden }: Relation): string {
  return `!${write(forbidden)}`;
}

function write(condition: FieldCondition): string {
  if ('all' in condition) return `(${condition.all.map(write).join(' && ')})`;
  if ('not' in condition) return `!${write(condition.not)}`;
  if ('has' in condition) return `has(self.${condition.has})`;
  if ('isEmpty' in condition) return `(!has(self.${condition.isEmpty}) || size(self.${condition.isEmpty}) == 0)`;
  const { field } = condition;
  if ('isAbove' in condition) return `(has(self.${field}) && self.${field} > ${condition.isAbove})`;
  const { isOneOf, byDefault } = condition;
  // One by one: a list of CEL holds values of one type only.
  const equal = isOneOf.map(value => `self.${field} == ${JSON.stringify(value)}`).join(' || ');
  const isMeant = byDefault !== undefined && isOneOf.includes(byDefault);
  return isMeant ? `(!has(self.${field}) || ${equal})` : `(has(self.${field}) && (${equal}))`;
}
