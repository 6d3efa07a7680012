import { expect } from 'chai';

import { guardStream, sealCommand } from './btrfs-stream.js';

const MAGIC = Buffer.from('btrfs-stream\0\u0001\0\0\0', 'latin1');

function command(number: number, ...attributes: readonly (readonly [number, Buffer])[]): Buffer {
  const parts = attributes.map(([name, value]) => {
    const head = Buffer.alloc(4);
    head.writeUInt16LE(name, 0);
    head.writeUInt16LE(value.length, 2);
    return Buffer.concat([head, value]);
  });
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(10);
  head.writeUInt32LE(body.length, 0);
  head.writeUInt16LE(number, 4);
  return sealCommand(Buffer.concat([head, body]));
}

const write = (length: number) => command(15, [15, Buffer.from('file')], [19, Buffer.alloc(length, length)]);
const files = [write(1), write(300), write(0), write(4000)];
const end = command(21);
const stream = (name: string) => Buffer.concat([MAGIC, command(1, [15, Buffer.from(name)]), ...files, end]);

describe('stream of btrfs', () => {
  for (const size of [1, 2, 9, 10, 11, 17, 64, 333, 10_000]) {
    it(`passes whole in chunks of ${size}, whose memory is used again for the next`, async () => {
      const bytes = stream('s-1-1');
      const memory = Buffer.alloc(size);
      const source = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield memory.subarray(0, bytes.copy(memory, 0, at, at + size));
      };
      const passed: Buffer[] = [];
      for await (const piece of guardStream(source(), [])) passed.push(Buffer.from(piece));
      expect(Buffer.concat(passed).equals(stream('.incoming'))).to.equal(true);
    });
  }

  it('needs no memory of its own for each command that two chunks share', async () => {
    const writes = Array.from({ length: 20 }, () => write(40_000));
    const bytes = Buffer.concat([MAGIC, command(1, [15, Buffer.from('s-1-1')]), ...writes, end]);
    const source = async function* () {
      for (let at = 0; at < bytes.length; at += 64_000) yield bytes.subarray(at, at + 64_000);
    };
    const memories = new Set<ArrayBufferLike>();
    for await (const piece of guardStream(source(), [])) if (piece.length > 40_000) memories.add(piece.buffer);
    expect(memories.size).to.equal(2); // that of the source, and that of what is shared
  });
});
