import { expect } from 'chai';
import fc from 'fast-check';

import { decodeAlarms, decodeMembers, decodeStatus } from './cluster-messages.js';
import { unframe, Unframer } from './grpc.js';
import { decodeBatch, decodeRange } from './messages.js';
import { ReverseWriter, Reader } from './protobuf.js';
import { decodeWatch } from './stream-messages.js';

describe('protocol buffers', () => {
  it('reads the numbers, long numbers and bytes that it wrote', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.string(), (number, long, text) => {
        const writer = new ReverseWriter(Buffer.byteLength(text) + 64);
        writer.bytes(0x1a, text);
        writer.long(0x10, long.toString());
        writer.number(0x08, number);
        const reader = new Reader(unframe([writer.frame()])!);

        expect([reader.next(), reader.number()]).to.deep.equal([0x08, number]);
        expect([reader.next(), reader.long()]).to.deep.equal([0x10, long.toString()]);
        expect([reader.next(), reader.text()]).to.deep.equal([0x1a, text]);
        expect(reader.next()).to.equal(0);
      }),
    );
  });

  it('skips unknown fields', () => {
    // 3: fixed64, 4: fixed32, 5: bytes, 6: number, then the version as field 2
    const unknown = [0x19, ...Array<number>(8).fill(1), 0x25, 1, 1, 1, 1, 0x2a, 2, 9, 9, 0x30, 0x96, 0x01];
    expect(decodeStatus(Buffer.from([...unknown, 0x12, 3, 0x33, 0x2e, 0x35])).version).to.equal('3.5');
  });

  it('rejects an answer that is truncated at any byte', () => {
    const writer = new ReverseWriter(64);
    writer.bytes(0x12, 'entry');
    const frame = writer.frame();
    for (let length = 0; length < frame.length; length++) {
      expect(unframe([frame.subarray(0, length)])).to.equal(undefined);
    }
  });

  it('finds the messages of a stream, wherever its chunks begin and end', () => {
    const message = fc.string({ maxLength: 40 });
    const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), cuts, (texts, lengths) => {
        const stream = Buffer.concat(texts.map(framed));
        const unframer = new Unframer();
        const found: string[] = [];
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const next = at + lengths[turn % lengths.length]!;
          for (const whole of unframer.take(stream.subarray(at, next))) found.push(new Reader(whole, 1).text());
          at = next;
        }
        expect(found).to.deep.equal(texts);
      }),
    );
  });

  it('rejects a compressed message', () => {
    expect(() => new Unframer().take(Buffer.from([1, 0, 0, 0, 0]))).to.throw(RangeError);
  });

  it('throws a RangeError and never loops, whatever bytes come', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), bytes => {
        const ranged = (message: Buffer) => decodeRange(message, '/x/');
        const watched = (message: Buffer) => decodeWatch(message, '/x/');
        for (const decode of [decodeBatch, ranged, watched, decodeStatus, decodeAlarms, decodeMembers]) {
          try {
            decode(Buffer.from(bytes));
          } catch (thrown) {
            expect(thrown).to.be.instanceOf(RangeError);
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

function framed(text: string): Buffer {
  const writer = new ReverseWriter(Buffer.byteLength(text) + 16);
  writer.bytes(0x0a, text);
  return writer.frame();
}
