const BLOCK = 512;

/** One file, folder or link of an archive. */
export type TarEntry =
  | { readonly path: string; readonly mode: number; readonly bytes: Buffer }
  | { readonly path: string; readonly mode: number; readonly folder: true }
  | { readonly path: string; readonly linkTo: string };

/** An archive in the ustar format. The same entries always give the same bytes. */
export function packTar(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.flatMap(blocks), Buffer.alloc(2 * BLOCK)]);
}

function blocks(entry: TarEntry): Buffer[] {
  const bytes = 'bytes' in entry ? entry.bytes : Buffer.alloc(0);
  const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
  return [header(entry, bytes.length), bytes, padding];
}

function header(entry: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, width: number) => value.toString(8).padStart(width - 1, '0');
  block.write(entry.path, 0, 100);
  block.write(octal('mode' in entry ? entry.mode : 0o777, 8), 100);
  block.write(octal(0, 8), 108); // owner: root
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(0, 12), 136); // changed: 1970
  block.write(' '.repeat(8), 148); // the checksum counts as spaces while it is computed
  block.write('linkTo' in entry ? '2' : 'folder' in entry ? '5' : '0', 156);
  if ('linkTo' in entry) block.write(entry.linkTo, 157, 100);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 7)}\0 `, 148);
  return block;
}
