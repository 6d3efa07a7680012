/** Longest `received`. */
const QUOTED_MAX = 256;

/** The value as a client sent it: itself when it is a string, else its JSON; never longer than 256 characters. */
export function quoteValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  return cut(typeof value === 'string' ? value : json(value, QUOTED_MAX + 1));
}

/** What kind of value it is and how large, for values that may be credentials. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'string') return `[redacted, string of ${Buffer.byteLength(value)} bytes]`;
  if (Array.isArray(value)) return `[redacted, list of ${value.length} entries]`;
  if (typeof value === 'object') return `[redacted, object of ${Object.keys(value).length} entries]`;
  return `[redacted, ${typeof value}]`;
}

function cut(text: string): string {
  if (text.length <= QUOTED_MAX) return text;
  const end = isHighSurrogate(text.charCodeAt(QUOTED_MAX - 2)) ? QUOTED_MAX - 2 : QUOTED_MAX - 1;
  return `${text.slice(0, end)}…`;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** The beginning of a value's JSON. Stops when it has enough, so that neither size nor depth of the value matter. */
function json(value: unknown, budget: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, budget));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';

  const isList = Array.isArray(value);
  const entries: Iterable<[unknown, unknown]> = isList ? value.entries() : Object.entries(value);
  let text = isList ? '[' : '{';
  for (const [key, part] of entries) {
    if (text.length > budget) return text;
    if (text.length > 1) text += ',';
    if (!isList) text += `${json(key, budget - text.length)}:`;
    text += json(part, Math.max(budget - text.length, 0));
  }
  return text + (isList ? ']' : '}');
}
