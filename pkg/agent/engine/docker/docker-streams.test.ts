import { expect } from 'chai';
import fc from 'fast-check';

import { EngineUnreachableFault } from '../engine.js';
import { parseEngineTime, readEnd } from '../log-entries.js';
import { readLogEntries } from './docker-streams.js';

const TIME = '2026-11-15T20:48:58.000000042Z';

function frame(stream: number, text: string): Buffer {
  const bytes = Buffer.from(`${TIME} ${text}`);
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
  for await (const { stream, bytes: text } of readLogEntries(cut(bytes, size))) found.push([stream, text.toString()]);
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
    const bytes = Buffer.concat([frame(1, 'whole\n'), frame(1, 'half').subarray(0, 41)]);

    expect(await read(bytes, 64)).to.deep.equal([['stdout', 'whole\n']]);
  });

  it('have the time of the engine, whose order is that of the text', () => {
    const times = ['2026-11-15T20:48:58Z', TIME, '2026-11-15T20:48:58.1Z', '2026-11-15T20:48:59.0Z'].map(
      parseEngineTime,
    );
    expect(times[1]).to.equal('1794775738.000000042');
    expect(times).to.deep.equal(times.toSorted((a, b) => (a! < b! ? -1 : 1)));
    expect(parseEngineTime('2026-11-15T22:48:58.000000042+02:00')).to.equal(times[1]);
    expect(['', 'now', '2026-11-15', `${TIME}x`].map(parseEngineTime)).to.deep.equal(Array(4).fill(undefined));
  });

  it('are refused without their time', async () => {
    const bytes = frame(1, '');
    bytes.write('text without a', 8);
    const thrown = await read(bytes, 64).catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(EngineUnreachableFault);
  });
});

describe('the end of a log', () => {
  it('has the parts of a long line joined, whatever the other stream wrote between', async () => {
    const bytes = Buffer.concat([
      frame(1, 'one\n'),
      frame(1, 'long-'),
      frame(2, 'error\r\n'),
      frame(1, 'line\n'),
      frame(2, 'without an end'),
    ]);
    const { lines, isCut } = await readEnd(readLogEntries(cut(bytes, 7)));
    expect(lines.map(({ stream, text }) => `${stream}: ${text}`)).to.deep.equal([
      'stdout: one',
      'stderr: error',
      'stdout: long-line',
      'stderr: without an end',
    ]);
    expect(isCut).to.equal(false);
  });

  it('says when there was more', async () => {
    const many = Buffer.concat(Array.from({ length: 21 }, () => frame(1, 'x\n')));
    expect((await readEnd(readLogEntries(cut(many, 64)))).isCut).to.equal(true);
    const large = Buffer.concat([frame(1, 'x'.repeat(70_000)), frame(2, 'last\n')]);
    const { lines, isCut } = await readEnd(readLogEntries(cut(large, 9_000)));
    expect({ lines, isCut }).to.deep.equal({ lines: [{ stream: 'stderr', text: 'last' }], isCut: true });
  });
});
