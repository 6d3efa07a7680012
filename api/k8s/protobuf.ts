/** What the bodies of typed clients begin with. */
const MAGIC = Buffer.from('k8s\0');
const LENGTH_DELIMITED = 2;
const MAX_FIELDS = 100;

/** The fields of a message that hold bytes, by their numbers; others are passed over. Undefined when it is no message. */
function readFields(bytes: Buffer): ReadonlyMap<number, Buffer> | undefined {
  const fields = new Map<number, Buffer>();
  let at = 0;
  const readNumber = (): number | undefined => {
    let value = 0;
    for (let shift = 0; shift < 35 && at < bytes.length; shift += 7) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return undefined;
  };
  for (let count = 0; at < bytes.length; count++) {
    const tag = readNumber();
    const size = tag === undefined ? undefined : readNumber();
    if (tag === undefined || size === undefined || count === MAX_FIELDS) return undefined;
    const kind = tag % 8;
    if (kind === 0) continue; // the number itself was read
    if (kind !== LENGTH_DELIMITED || at + size > bytes.length) return undefined;
    fields.set(Math.floor(tag / 8), bytes.subarray(at, at + size));
    at += size;
  }
  return fields;
}

/** The fields of the message in an envelope of Kubernetes, by the path of their numbers. Undefined when it is none. */
export function readEnvelope(bytes: Buffer): ((...path: readonly number[]) => Buffer | undefined) | undefined {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const raw = readFields(bytes.subarray(MAGIC.length))?.get(2);
  if (!raw) return undefined;
  return (...path) => {
    let message: Buffer | undefined = raw;
    for (const number of path) message = message && readFields(message)?.get(number);
    return message;
  };
}
