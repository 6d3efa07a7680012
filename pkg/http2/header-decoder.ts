import type { HeaderField } from './header-encoder.js';
import { Http2Fault } from './http2-fault.js';
import { decodeHuffman } from './huffman.js';
import { staticTable } from './static-table.js';

/** What a table may hold when nobody has said otherwise, and more than which we have not offered. */
const TABLE_SIZE = 4_096;

/** What an entry counts for beside its characters. */
const ENTRY_OVERHEAD = 32;

/** No number in a header is larger. */
const MOST = 2 ** 28;

/** Understands headers as HPACK (RFC 7541) sends them. One for each connection: what came earlier is referred to. */
export class HeaderDecoder {
  /** What was sent before and may be referred to, the newest first. */
  readonly #table: HeaderField[] = [];
  #tableSize = 0;
  #tableLimit = TABLE_SIZE;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** The headers of one whole block, in the order they were sent. */
  decode(block: Buffer): readonly HeaderField[] {
    this.#block = block;
    this.#at = 0;
    const fields: HeaderField[] = [];
    while (this.#at < block.length) {
      const first = block[this.#at]!;
      if (first & 0x80) fields.push(this.#entry(this.#number(7)));
      else if (first & 0x40) fields.push(this.#remember(this.#literal(6)));
      else if (first & 0x20) this.#shrink(this.#number(5));
      else fields.push(this.#literal(4));
    }
    return fields;
  }

  /** The prefix holds where the name stands in the tables, or 0 when it follows. */
  #literal(prefixBits: number): HeaderField {
    const index = this.#number(prefixBits);
    const name = index === 0 ? this.#string() : this.#entry(index).name;
    return { name, value: this.#string() };
  }

  #entry(index: number): HeaderField {
    const entry = index <= staticTable.length ? staticTable[index - 1] : this.#table[index - staticTable.length - 1];
    if (!entry) throw new Http2Fault('a header refers to one that was never sent');
    return entry;
  }

  #remember(field: HeaderField): HeaderField {
    this.#table.unshift(field);
    this.#tableSize += sizeOf(field);
    this.#forget();
    return field;
  }

  #shrink(limit: number): void {
    if (limit > TABLE_SIZE) throw new Http2Fault('the table of headers is larger than we offered');
    this.#tableLimit = limit;
    this.#forget();
  }

  #forget(): void {
    while (this.#tableSize > this.#tableLimit) this.#tableSize -= sizeOf(this.#table.pop()!);
  }

  #string(): string {
    const isCompressed = (this.#byte() & 0x80) !== 0;
    this.#at--;
    const length = this.#number(7);
    const end = this.#at + length;
    if (end > this.#block.length) throw new Http2Fault('a header is cut off');
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    return isCompressed ? decodeHuffman(bytes) : bytes.toString('latin1');
  }

  /** A number that begins in the last `prefixBits` of a byte and goes on behind it when it does not fit. */
  #number(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (value > MOST || factor > MOST) throw new Http2Fault('a number in a header is too large');
      if (byte < 128) return value;
    }
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw new Http2Fault('a header is cut off');
    return byte;
  }
}

function sizeOf({ name, value }: HeaderField): number {
  return name.length + value.length + ENTRY_OVERHEAD;
}
