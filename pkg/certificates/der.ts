import { isIP } from 'node:net';

/** DER (ITU-T X.690), as far as a certificate needs it: each function encodes one value of ASN.1. */
export const der = {
  sequence: (...items: readonly Buffer[]) => encode(0x30, ...items),
  set: (...items: readonly Buffer[]) => encode(0x31, ...items),
  boolean: (value: boolean) => encode(0x01, Buffer.of(value ? 0xff : 0)),
  /** A number that is not negative, the most significant byte first. */
  integer: (bytes: Buffer) => encode(0x02, toUnsigned(bytes)),
  bitString: (bytes: Buffer, unusedBits = 0) => encode(0x03, Buffer.of(unusedBits), bytes),
  octetString: (bytes: Buffer) => encode(0x04, bytes),
  utf8: (text: string) => encode(0x0c, Buffer.from(text, 'utf8')),
  /** `1.2.840.10045.4.3.2` */
  objectId: (dotted: string) => encode(0x06, toObjectId(dotted)),
  time: (ms: number) => encodeTime(ms),
  /** `[number]` around whole values. */
  explicit: (number: number, ...items: readonly Buffer[]) => encode(0xa0 + number, ...items),
  /** `[number]` in place of the tag of a plain value. */
  implicit: (number: number, bytes: Buffer) => encode(0x80 + number, bytes),
} as const;

function encode(tag: number, ...contents: readonly Buffer[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag), encodeLength(body.length), body]);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes = toBytes(length);
  return Buffer.of(0x80 + bytes.length, ...bytes);
}

/** A number in base 256, the most significant digit first. */
function toBytes(number: number): readonly number[] {
  return number < 0x100 ? [number] : [...toBytes(Math.floor(number / 0x100)), number % 0x100];
}

/** No leading zeros, save one where the first bit would read as a sign. */
function toUnsigned(bytes: Buffer): Buffer {
  const first = bytes.findIndex(byte => byte !== 0);
  const digits = first === -1 ? Buffer.of(0) : bytes.subarray(first);
  return digits[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), digits]) : digits;
}

function toObjectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return Buffer.from([first * 40 + second, ...others].flatMap(toBase128));
}

/** Every digit but the last has the top bit. */
function toBase128(number: number): readonly number[] {
  const higher = Math.floor(number / 0x80);
  return higher === 0 ? [number] : [...toBase128(higher).map(digit => digit | 0x80), number % 0x80];
}

/** RFC 5280, 4.1.2.5: two digits of the year until 2049, four from 2050 on; whole seconds. */
function encodeTime(ms: number): Buffer {
  const digits = new Date(ms)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:T]/g, '');
  return Number(digits.slice(0, 4)) < 2050
    ? encode(0x17, Buffer.from(digits.slice(2)))
    : encode(0x18, Buffer.from(digits));
}

/** The bytes of an IP address: four, or sixteen. Undefined when the text is none. */
export function parseAddress(text: string): Buffer | undefined {
  if (isIP(text) === 4) return Buffer.from(text.split('.').map(Number));
  if (isIP(text) !== 6 || text.includes('%')) return undefined;
  // The URL parser writes an IPv4 tail as two groups.
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16)));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => 0);
  const bytes = Buffer.alloc(16);
  for (const [at, group] of [...left, ...zeros, ...right].entries()) bytes.writeUInt16BE(group, at * 2);
  return bytes;
}
