/** One header, its name in lower case. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
}

/** "Never indexed" would do as well: the other side is asked to remember nothing. */
const LITERAL_WITHOUT_INDEXING = 0x00;
/** A side that offers a smaller table than usual wants to hear that we keep to it: we use none. */
const TABLE_SIZE_ZERO = 0x20;
const LENGTH_PREFIX_BITS = 7;

/** Headers as HPACK sends them when nothing is compressed: whoever sends the same ones often keeps the bytes. */
export function encodeHeaders(fields: readonly HeaderField[]): Buffer {
  const bytes: number[] = [TABLE_SIZE_ZERO];
  for (const { name, value } of fields) {
    bytes.push(LITERAL_WITHOUT_INDEXING);
    for (const text of [name, value]) {
      const latin1 = Buffer.from(text, 'latin1');
      pushNumber(bytes, latin1.length);
      bytes.push(...latin1);
    }
  }
  return Buffer.from(bytes);
}

function pushNumber(bytes: number[], n: number): void {
  const most = 2 ** LENGTH_PREFIX_BITS - 1;
  if (n < most) {
    bytes.push(n);
    return;
  }
  bytes.push(most);
  let rest = n - most;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
}
