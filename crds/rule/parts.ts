import type { FieldError, Rule } from './rule.js';

type Holder = Readonly<Record<string, unknown>>;

/** The rule of a part, for the object that holds the part. Silent when the part is not there. */
export function forPart<Value, Facts>(part: string, inner: Rule<Value, Facts>): Rule<Holder, Facts> {
  return {
    code: inner.code,
    check: (holder, at, facts) => {
      const value = holder[part];
      return value === undefined ? undefined : inner.check(value as Value, at.child(part), facts);
    },
  };
}

/** Findings of one rule in one list: as many as an answer can hold, so that a hostile list costs no more than that. */
const FOUND_MAX = 200;

/** The rule of an entry, for the list that holds the entries. */
export function forEachEntry<Value, Facts>(inner: Rule<Value, Facts>): Rule<readonly Value[], Facts> {
  return {
    code: inner.code,
    check: (list, at, facts) => {
      const found: FieldError[] = [];
      for (const [position, entry] of list.entries()) {
        const more = inner.check(entry, at.index(position), facts);
        if (more !== undefined) found.push(...('rejection' in more ? [more] : more.slice(0, FOUND_MAX)));
        if (found.length >= FOUND_MAX) break;
      }
      return found;
    },
  };
}
