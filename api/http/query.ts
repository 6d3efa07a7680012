import { reject } from '../../crds/rejections/index.js';
import { Refused } from './rejection.js';

/** The query parameters of a request, each at most once and all of them known to the route. */
export type Query = ReadonlyMap<string, string>;

/** The query parameters that every write knows. */
export const WRITE_QUERY = ['dryRun'] as const;

const NOTHING: Query = new Map();

/** Reads a query string. Refuses parameters that the route does not know, and one that is given twice. */
export function parseQuery(text: string, known: readonly string[]): Query | Refused {
  if (text === '') return NOTHING;
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (!known.includes(name)) return new Refused(reject('query_parameter_unknown', name, value, { known }));
    if (query.has(name)) return wrong(name, value, 'the parameter once');
    query.set(name, value);
  }
  return query;
}

/** A whole number between two bounds. */
export function integerIn(
  query: Query,
  name: string,
  range: { readonly min: number; readonly max: number; readonly fallback: number },
): number | Refused {
  const text = query.get(name);
  if (text === undefined) return range.fallback;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (number >= range.min && number <= range.max) return number;
  return wrong(name, text, `an integer from ${range.min} to ${range.max}`);
}

/** `true` or `false`; false when it is left out. */
export function flagIn(query: Query, name: string): boolean | Refused {
  const text = query.get(name);
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  return wrong(name, text, 'true or false');
}

/** The refusal of a parameter's value. */
export function wrong(name: string, received: string, wanted: string): Refused {
  return new Refused(reject('query_parameter_invalid', name, received, { wanted }));
}
