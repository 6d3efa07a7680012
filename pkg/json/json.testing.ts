/** Texts of about a mebibyte at `size` that cost more than they should when the reader is careless. */
export const hostileTexts: Readonly<
  Record<string, { readonly size: number; readonly make: (size: number) => string }>
> = {
  'one long string': { size: 1 << 20, make: size => `"${'x'.repeat(size)}"` },
  'one string of escapes': { size: 170_000, make: size => `"${'\\u0041'.repeat(size)}"` },
  'only spaces': { size: 1 << 20, make: size => ' '.repeat(size) },
  'many keys': {
    size: 9_000,
    make: size => `{${Array.from({ length: size }, (_, n) => `"${'k'.repeat(100)}${n}":0`).join(',')}}`,
  },
  'a long number': { size: 1 << 20, make: size => '1'.repeat(size) },
  'a long fraction': { size: 1 << 20, make: size => `0.${'1'.repeat(size)}` },
};
