/** All keys that begin with `prefix`: from it, up to but without `end`. */
export interface KeyRange {
  readonly key: string;
  readonly end: Buffer;
}

/** The range of all keys below a prefix, in the order of bytes. */
export function rangeBelow(prefix: string): KeyRange {
  const end = Buffer.from(prefix);
  end[end.length - 1]!++; // a prefix ends in `/`, never in the highest byte
  return { key: prefix, end };
}

/** The smallest key after `key`. */
export function keyAfter(key: string): string {
  return `${key}\0`;
}
