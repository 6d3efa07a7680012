import { expect } from 'chai';
import fc from 'fast-check';

import { readLogFrames } from './docker-streams.js';

function frame(stream: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

async function read(bytes: Buffer, size: number): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for await (const { stream, bytes: text } of readLogFrames(cut(bytes, size))) found.push([stream, text.toString()]);
  return found;
}

describe('log frames', () => {
  it('come out whole however the bytes are cut', async () => {
    const written = fc.array(fc.tuple(fc.constantFrom(1, 2), fc.string({ unit: 'grapheme' })));
    await fc.assert(
      fc.asyncProperty(written, fc.integer({ min: 1, max: 40 }), async (frames, size) => {
        const bytes = Buffer.concat(frames.map(([stream, text]) => frame(stream, text)));

        const expected = frames.map(([stream, text]) => [stream === 2 ? 'stderr' : 'stdout', text]);
        expect(await read(bytes, size)).to.deep.equal(expected);
      }),
    );
  });

  it('withholds a frame that broke off', async () => {
    const bytes = Buffer.concat([frame(1, 'whole\n'), frame(1, 'half').subarray(0, 10)]);

    expect(await read(bytes, 64)).to.deep.equal([['stdout', 'whole\n']]);
  });
});
