import { createStreamFault } from './volume-checks.js';

/**
 * The stream of `btrfs send`, version 1: `btrfs-stream\0`, the version, then commands. A command is the length of its
 * attributes, its number and its CRC-32C; an attribute is its number, its length and its bytes. Numbers are little-endian.
 */
const MAGIC = Buffer.from('btrfs-stream\0\u0001\0\0\0', 'latin1');
const HEADER = 10;
/** No command of version 1 is longer. */
const COMMAND_MAX = 64 * 1024;

const command = { subvolume: 1, snapshot: 2, makeDevice: 5, link: 10, end: 21, last: 22 } as const;
const attribute = { path: 15, pathTo: 16, pathLink: 17, cloneUuid: 20, clonePath: 22 } as const;

/** The name that a received subvolume has until it is accepted. No snapshot can have it. */
export const INCOMING = '.incoming';

/**
 * Lets through a stream that makes one subvolume and names no path outside of it, command by command; throws at the first
 * that does not. The subvolume is renamed to `INCOMING`. The bytes of files are not looked at: the checksum covers them. What
 * it gives is good until the next is asked for, like what it is given.
 *
 * `parentUuids` are those of the snapshot that it must be the difference to; none: it must be whole.
 */
export async function* guardStream(
  source: AsyncIterable<Buffer>,
  parentUuids: readonly string[],
): AsyncGenerator<Buffer> {
  let state = 'magic' as 'magic' | 'first' | 'commands' | 'end';
  /** The beginning of a command that two chunks share: the memory of the first may be used again before the second is here. */
  const begun = Buffer.allocUnsafeSlow(HEADER + COMMAND_MAX);
  let begunBytes = 0;
  for await (const chunk of source) {
    let bytes = chunk;
    while (begunBytes > 0 && bytes.length > 0) {
      const missing = measureNext(begun.subarray(0, begunBytes), 0) - begunBytes;
      begunBytes += bytes.copy(begun, begunBytes, 0, missing);
      bytes = bytes.subarray(missing);
      const left = yield* pass(begun.subarray(0, begunBytes)); // nothing, or all while the command is not whole
      begunBytes = left.length;
    }
    if (bytes.length > 0) begunBytes = (yield* pass(bytes)).copy(begun);
  }
  if (state !== 'end') throw createStreamFault('it ends too early');

  /** Lets whole commands through, and returns what is left. */
  function* pass(bytes: Buffer): Generator<Buffer, Buffer> {
    let at = 0;
    let passed = 0;
    while (state !== 'end') {
      const length = measureNext(bytes, at);
      if (bytes.length - at < length) break;
      const each = bytes.subarray(at, at + length);
      at += length;
      if (state === 'commands') {
        checkCommand(each);
        if (each.readUInt16LE(4) === command.end) state = 'end';
        continue;
      }
      passed = at;
      if (state === 'first') checkBeginning(each, parentUuids);
      else if (!each.equals(MAGIC)) throw createStreamFault('it is not a stream of btrfs, version 1');
      yield state === 'first' ? renameSubvolume(each) : MAGIC;
      state = state === 'first' ? 'commands' : 'first';
    }
    if (at > passed) yield bytes.subarray(passed, at);
    if (state === 'end' && bytes.length > at) throw createStreamFault('it goes on after its end');
    return bytes.subarray(at);
  }

  /** How long what begins at a place is, as far as it is known there. */
  function measureNext(bytes: Buffer, at: number): number {
    if (state === 'magic') return MAGIC.length;
    if (bytes.length - at < HEADER) return HEADER;
    const length = bytes.readUInt32LE(at);
    if (length > COMMAND_MAX) throw createStreamFault('a command is too long');
    return HEADER + length;
  }
}

interface Attribute {
  readonly number: number;
  readonly value: Buffer;
}

function* readAttributes(each: Buffer): Generator<Attribute> {
  for (let at = HEADER; at < each.length; ) {
    const end = at + 4 > each.length ? Number.POSITIVE_INFINITY : at + 4 + each.readUInt16LE(at + 2);
    if (end > each.length) throw createStreamFault('an attribute is longer than its command');
    yield { number: each.readUInt16LE(at), value: each.subarray(at + 4, end) };
    at = end;
  }
}

/** The first command says whether the stream is whole or a difference, and to what. */
function checkBeginning(each: Buffer, parentUuids: readonly string[]): void {
  const number = each.readUInt16LE(4);
  if (number !== command.subvolume && number !== command.snapshot)
    throw createStreamFault('it does not begin with a subvolume');
  const attributes = [...readAttributes(each)];
  const names = attributes.filter(each => each.number === attribute.path);
  if (names.length !== 1) throw createStreamFault('it names no subvolume, or several');
  const parent = attributes.find(({ number: each }) => each === attribute.cloneUuid)?.value.toString('hex');
  const isRight = number === command.snapshot ? parentUuids.includes(parent ?? '') : parentUuids.length === 0;
  if (!isRight) throw createStreamFault('it is the difference to another parent');
}

function checkCommand(each: Buffer): void {
  const number = each.readUInt16LE(4);
  if (number <= command.snapshot || number > command.last)
    throw createStreamFault('it has a command that is not expected');
  if (number === command.makeDevice) throw createStreamFault('it makes a device, which a volume cannot hold');
  for (const { number: name, value } of readAttributes(each)) {
    const isPath =
      name === attribute.path ||
      name === attribute.pathTo ||
      name === attribute.clonePath ||
      (name === attribute.pathLink && number === command.link); // of a symbolic link it is the text that it holds
    if (isPath && !isInside(value)) throw createStreamFault('it names a path outside of the volume');
  }
}

/** An empty path is the subvolume itself. */
function isInside(path: Buffer): boolean {
  if (path.length === 0) return true;
  const components = path.toString('latin1').split('/');
  return components.every(each => each !== '' && each !== '.' && each !== '..' && !each.includes('\0'));
}

function renameSubvolume(each: Buffer): Buffer {
  const attributes = [...readAttributes(each)].map(({ number, value }) => {
    const bytes = number === attribute.path ? Buffer.from(INCOMING) : value;
    const head = Buffer.alloc(4);
    head.writeUInt16LE(number, 0);
    head.writeUInt16LE(bytes.length, 2);
    return Buffer.concat([head, bytes]);
  });
  const renamed = Buffer.concat([each.subarray(0, HEADER), ...attributes]);
  renamed.writeUInt32LE(renamed.length - HEADER, 0);
  return sealCommand(renamed);
}

/** Writes the checksum of a command into it. */
export function sealCommand(each: Buffer): Buffer {
  each.writeUInt32LE(0, 6);
  let crc = 0;
  for (const byte of each) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  each.writeUInt32LE(crc >>> 0, 6);
  return each;
}
