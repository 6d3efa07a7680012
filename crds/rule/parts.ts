import type { Rule } from './rule.js';

type Holder = Readonly<Record<string, unknown>>;

/** The rule of a part, for the object that holds the part. Silent when the part is not there. */
export function within<Value, Facts>(part: string, inner: Rule<Value, Facts>): Rule<Holder, Facts> {
  return {
    code: inner.code,
    check: (holder, at, facts) => {
      const value = holder[part];
      return value === undefined ? undefined : inner.check(value as Value, at.child(part), facts);
    },
  };
}

/** The rule of an entry, for the list that holds the entries. */
export function each<Value, Facts>(inner: Rule<Value, Facts>): Rule<readonly Value[], Facts> {
  return {
    code: inner.code,
    check: (list, at, facts) => list.flatMap((entry, position) => inner.check(entry, at.index(position), facts) ?? []),
  };
}
