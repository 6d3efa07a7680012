import { Http2Fault } from './http2-fault.js';

/** How many bits each byte takes (RFC 7541, appendix B); the last one stands for the end of the string. */
const LENGTHS: readonly number[] = [
  [13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  [28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  [6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  [5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  [13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  [7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  [15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  [6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  [20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  [24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  [22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  [21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  [26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  [19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  [20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  [26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
  [30],
].flat();

const END_OF_STRING = 256;
const LONGEST_PADDING = 7;

/** A place in the tree of codes: the byte that is complete here, or where a 0 and a 1 lead. */
type Place = number | { zero?: Place; one?: Place };

const tree = treeOf(LENGTHS);

/** The code is canonical: sorted by length, then by byte, each code is the one before plus one. */
function treeOf(lengths: readonly number[]): Exclude<Place, number> {
  const symbols = lengths.map((length, symbol) => ({ length, symbol }));
  symbols.sort((a, b) => a.length - b.length || a.symbol - b.symbol);
  const root: Exclude<Place, number> = {};
  let code = 0;
  let codeLength = 0;
  for (const { length, symbol } of symbols) {
    code *= 2 ** (length - codeLength);
    codeLength = length;
    plant(root, code++, { length, symbol });
  }
  return root;
}

function plant(root: Exclude<Place, number>, code: number, leaf: { readonly length: number; readonly symbol: number }) {
  let place = root;
  for (let bit = leaf.length - 1; bit > 0; bit--) {
    const branch = branchOf(code, bit);
    const next = (place[branch] ??= {});
    if (typeof next === 'number') throw new Http2Fault('the Huffman code contradicts itself');
    place = next;
  }
  place[branchOf(code, 0)] = leaf.symbol;
}

function branchOf(code: number, bit: number): 'zero' | 'one' {
  return (code >>> bit) & 1 ? 'one' : 'zero';
}

/** The string that was compressed to these bytes, one character a byte. */
export function decodeHuffman(bytes: Buffer): string {
  let text = '';
  let place = tree;
  let unfinished = 0;
  let onlyOnes = true;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const branch = branchOf(byte, bit);
      const next = place[branch];
      if (next === undefined || next === END_OF_STRING) throw new Http2Fault('a header is not compressed as it should');
      if (typeof next === 'number') {
        text += String.fromCharCode(next);
        place = tree;
        unfinished = 0;
        onlyOnes = true;
      } else {
        place = next;
        unfinished++;
        onlyOnes &&= branch === 'one';
      }
    }
  }
  if (unfinished > LONGEST_PADDING || !onlyOnes) throw new Http2Fault('a header does not end as it should');
  return text;
}
