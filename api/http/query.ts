import { rejectRequest, RequestRejection } from './reply.js';

/** The query parameters of a request, each at most once and all of them known to the route. */
export type QueryParams = ReadonlyMap<string, string>;

/** The query parameters that every write knows. */
export const WRITE_QUERY = ['dryRun'] as const;

const NOTHING: QueryParams = new Map();

/** Reads a query string. Refuses parameters that the route does not know, unless they are ignored, and one that is given twice. */
export function parseQuery(
  text: string,
  known: readonly string[],
  ignoresUnknown = false,
): QueryParams | RequestRejection {
  if (text === '') return NOTHING;
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (!known.includes(name) && ignoresUnknown) continue;
    if (!known.includes(name)) return rejectRequest('query_parameter_unknown', name || 'query', value, { known });
    if (query.has(name)) return rejectParameter(name, value, 'the parameter once');
    query.set(name, value);
  }
  return query;
}

/** A whole number between two bounds. */
export function readInteger(
  query: QueryParams,
  name: string,
  range: { readonly min: number; readonly max: number; readonly fallback: number },
): number | RequestRejection {
  const text = query.get(name);
  if (text === undefined) return range.fallback;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (number >= range.min && number <= range.max) return number;
  return rejectParameter(name, text, `an integer from ${range.min} to ${range.max}`);
}

/** `true` or `false`; false when it is left out. */
export function readFlag(query: QueryParams, name: string): boolean | RequestRejection {
  const text = query.get(name);
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  return rejectParameter(name, text, 'true or false');
}

/** The refusal of a parameter's value. */
export function rejectParameter(name: string, received: string, wanted: string): RequestRejection {
  return rejectRequest('query_parameter_invalid', name, received, { wanted });
}

/** Refuses a parameter that would be ignored: the page of a watch, or the cursor of a list. */
export function rejectMisplaced(
  query: QueryParams,
  names: readonly string[],
  isWatch: boolean,
): RequestRejection | undefined {
  const name = names.find(each => query.has(each));
  if (name === undefined) return undefined;
  const wanted = isWatch ? `no ${name} together with watch=true` : `${name} together with watch=true`;
  return rejectParameter(name, query.get(name)!, wanted);
}
