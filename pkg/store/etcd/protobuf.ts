/**
 * Just enough of protocol buffers for etcd's key-value messages.
 *
 * Messages are written back to front, so that every length is known when it is needed. A tag is the field's
 * number and wire type in one byte, which holds for every field that is used here.
 */

const GRPC_HEADER = 5;

/** Writes one message, its last byte first. */
export class ReverseWriter {
  readonly #buffer: Buffer;
  /** What all keys begin with. Plain ASCII. */
  readonly #root: string;
  #at: number;

  /** `size` must be enough for the whole message. */
  constructor(size: number, root = '') {
    this.#root = root;
    this.#buffer = Buffer.allocUnsafe(size + GRPC_HEADER);
    this.#at = this.#buffer.length;
  }

  /** Where the next byte goes. Passed to `close` as the end of a message that is begun now. */
  get at(): number {
    return this.#at;
  }

  number(tag: number, n: number): void {
    this.#varint(n);
    this.#buffer[--this.#at] = tag;
  }

  /** A 64-bit number that a double cannot hold, in decimal. */
  long(tag: number, decimal: string): void {
    const bytes = longVarint(decimal);
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
    this.#buffer[--this.#at] = tag;
  }

  bytes(tag: number, data: string | Buffer): void {
    const length = typeof data === 'string' ? Buffer.byteLength(data) : data.length;
    this.#at -= length;
    if (typeof data === 'string') this.#buffer.write(data, this.#at, length);
    else data.copy(this.#buffer, this.#at);
    this.number(tag, length);
  }

  /** A key below the root. */
  key(tag: number, key: string): void {
    const length = Buffer.byteLength(key);
    this.#at -= length;
    this.#buffer.write(key, this.#at, length);
    this.#at -= this.#root.length;
    this.#buffer.write(this.#root, this.#at, 'latin1');
    this.number(tag, length + this.#root.length);
  }

  /** Ends the message whose last byte is before `end`. */
  close(tag: number, end: number): void {
    this.number(tag, end - this.#at);
  }

  /** The finished message as gRPC sends it: one byte "not compressed", four bytes of length, the message. */
  frame(): Buffer {
    const length = this.#buffer.length - this.#at;
    this.#at -= 4;
    this.#buffer.writeUInt32BE(length, this.#at);
    this.#buffer[--this.#at] = 0;
    return this.#buffer.subarray(this.#at);
  }

  #varint(n: number): void {
    this.#at -= varintLength(n);
    let at = this.#at;
    let rest = n;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#buffer[at++] = (rest % 128) | 128;
    this.#buffer[at] = rest;
  }
}

/** Reads one message. Fields that are not asked for are skipped, so that newer servers may send more. */
export class Reader {
  readonly #buffer: Buffer;
  #at: number;
  readonly #end: number;

  constructor(buffer: Buffer, at = 0, end = buffer.length) {
    this.#buffer = buffer;
    this.#at = at;
    this.#end = end;
  }

  /** The tag of the next field; 0 at the end. */
  next(): number {
    return this.#at < this.#end ? this.number() : 0;
  }

  /** The value of a number field. Beyond 2^53 it is only good for comparing with zero. */
  number(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  }

  /** The value of a 64-bit field, in decimal. */
  long(): string {
    let value = 0n;
    let shift = 0n;
    for (;;) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value.toString();
      shift += 7n;
    }
  }

  bytes(): Buffer {
    const start = this.#open();
    return this.#buffer.subarray(start, this.#at);
  }

  /** Without its first `skipped` bytes. */
  text(skipped = 0): string {
    const start = this.#open();
    return this.#buffer.toString('utf8', start + skipped, this.#at);
  }

  message(): Reader {
    const start = this.#open();
    return new Reader(this.#buffer, start, this.#at);
  }

  skip(tag: number): void {
    const wireType = tag & 7;
    if (wireType === 0) this.number();
    else if (wireType === 1) this.#advance(8);
    else if (wireType === 2) this.#open();
    else if (wireType === 5) this.#advance(4);
    else throw new RangeError(`wire type ${wireType} is not used by etcd`);
  }

  /** Steps over a field with a length, and gives where its content began. */
  #open(): number {
    const length = this.number();
    const start = this.#at;
    this.#advance(length);
    return start;
  }

  #advance(count: number): void {
    this.#at += count;
    if (this.#at > this.#end) throw new RangeError('a message ends too soon');
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new RangeError('a message ends too soon');
    return this.#buffer[this.#at++]!;
  }
}

/** The last one is kept: nearly all that is put on a lease is put on the same one. */
let lastLong: { readonly decimal: string; readonly bytes: readonly number[] } = { decimal: '0', bytes: [0] };

function longVarint(decimal: string): readonly number[] {
  if (lastLong.decimal === decimal) return lastLong.bytes;
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(decimal));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  lastLong = { decimal, bytes };
  return bytes;
}

function varintLength(n: number): number {
  let length = 1;
  for (let rest = n; rest > 127; rest = Math.floor(rest / 128)) length++;
  return length;
}
