const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = 62n;

/** The bytes, read as one big-endian number, in exactly `width` base-62 digits: the lowest, where there are more. */
export function base62(bytes: Buffer, width: number): string {
  let rest = bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
  let digits = '';
  for (let digit = 0; digit < width; digit++, rest /= BASE) digits = ALPHABET[Number(rest % BASE)] + digits;
  return digits;
}

/** The same for a number that needs no big arithmetic. */
export function base62Number(value: number, width: number): string {
  let digits = '';
  for (let rest = value, digit = 0; digit < width; digit++, rest = Math.floor(rest / 62)) {
    digits = ALPHABET[rest % 62] + digits;
  }
  return digits;
}
