import { expect } from 'chai';
import fc from 'fast-check';
import { PassThrough } from 'node:stream';
import { spy } from 'sinon';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { CHECKSUM_BYTES } from '../volumes/index.js';
import { PeerWire } from './wire.js';

const CHECKSUM = Buffer.alloc(CHECKSUM_BYTES, 7);
const STALL_MS = 1_000;

function frame(bytes: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return Buffer.concat([head, bytes]);
}

/** Cuts bytes at places that are fractions of their length. */
function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const at = [0, ...places.map(place => Math.floor(place * bytes.length)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, piece) => bytes.subarray(at[piece], end));
}

describe('PeerWire', () => {
  let clock: ManualClock;
  /** What is written to it arrives at the wire. */
  let stream: PassThrough;
  let wire: PeerWire;
  beforeEach(() => {
    clock = new ManualClock();
    stream = new PassThrough();
    wire = new PeerWire(stream, { clock, stallMs: STALL_MS });
  });
  afterEach(() => wire.close());

  it('reads a line and frames whole, in whatever pieces they arrive and whenever they are read', async () => {
    const content = fc.array(fc.uint8Array({ minLength: 1, maxLength: 3_000 }), { maxLength: 6 });
    const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(content, places, fc.boolean(), async (frames, where, isEarly) => {
        const sent = frames.map(each => Buffer.from(each));
        const all = Buffer.concat([Buffer.from('{"a":1}\n'), ...sent.map(frame), Buffer.alloc(4), CHECKSUM]);
        const source = new PassThrough({ highWaterMark: all.length + 1 });
        const reader = new PeerWire(source, { clock, stallMs: STALL_MS });
        const arrive = async () => {
          for (const piece of cut(all, where)) {
            source.write(piece);
            await new Promise(setImmediate);
          }
        };
        const arriving = arrive();
        if (isEarly) await arriving;
        expect(await reader.readLine()).to.equal('{"a":1}');
        const reading = reader.readFrames();
        for (const each of sent) expect((await reading.next()).value).to.deep.equal(each);
        expect(await reading.next()).to.deep.equal({ value: CHECKSUM.toString('hex'), done: true });
        await arriving;
        reader.close();
      }),
      { numRuns: 60 },
    );
  });

  it('uses the memory of a frame again that was given back', async () => {
    const reading = wire.readFrames();
    stream.write(frame(Buffer.alloc(100, 1)));
    const first = (await reading.next()).value as Buffer;
    wire.giveBack(first);
    stream.write(frame(Buffer.alloc(60, 2)));
    const second = (await reading.next()).value as Buffer;
    expect(second).to.deep.equal(Buffer.alloc(60, 2));
    expect(second.buffer).to.equal(first.buffer);
    wire.giveBack(second);
    stream.write(frame(Buffer.alloc(101, 3)));
    expect((await reading.next()).value).to.deep.equal(Buffer.alloc(101, 3));
  });

  for (const [what, bytes] of [
    ['a thousand lines that wait', Buffer.from('{"arrived":0}\n'.repeat(1_000))],
    ['a line that arrives byte by byte', Buffer.from(`${'x'.repeat(10_000)}\n`)],
  ] as const) {
    it(`joins the pieces of ${what} no more than once`, async () => {
      const joined = spy(Buffer, 'concat');
      try {
        for (const byte of bytes) stream.write(Buffer.from([byte]));
        const count = bytes.filter(byte => byte === 10).length;
        for (let line = 0; line < count; line++) await wire.readLine();
        const pieces = joined.args.reduce((sum, [list]) => sum + list.length, 0);
        expect(pieces).to.be.within(bytes.length, 3 * bytes.length);
      } finally {
        joined.restore();
      }
    });
  }

  it('takes no more pieces than it can keep, however small they are', async () => {
    const taken = spy();
    stream.on('data', taken);
    for (let byte = 0; byte < 10_000; byte++) stream.write(Buffer.from([0]));
    await new Promise(setImmediate);
    expect(stream.isPaused()).to.equal(true);
    expect(taken.callCount).to.be.below(2_000);
  });

  it('waits as long as a piece of a frame arrives now and then, and no longer than the stall time after the last', async () => {
    const bytes = frame(Buffer.alloc(5, 1));
    const taken = wire.readFrames().next();
    let failure: unknown;
    taken.catch((thrown: unknown) => {
      failure = thrown;
    });
    for (const byte of bytes.subarray(0, 8)) {
      await clock.pass(STALL_MS - 1);
      expect(failure).to.equal(undefined);
      stream.write(Buffer.from([byte]));
    }
    await clock.pass(STALL_MS - 1);
    expect(failure).to.equal(undefined);
    await clock.pass(1);
    expect(failure)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/the other node sent nothing/);
  });

  it('gives up the frame that is being read when the rest is skipped', async () => {
    const taken = wire.readFrames().next();
    stream.write(frame(Buffer.alloc(100)).subarray(0, 50));
    await new Promise(setImmediate);
    const skipped = wire.skip().catch(() => 'closed');
    expect(await taken.catch((thrown: Error) => thrown.message)).to.match(/the connection to the other node broke/);
    stream.end(Buffer.alloc(1_000));
    expect(await skipped).to.equal('closed');
  });

  it('gives up a frame also between its length and its bytes', async () => {
    const taken = wire.readFrames().next();
    stream.write(frame(Buffer.alloc(100)).subarray(0, 4));
    const skipped = wire.skip().catch(() => 'closed');
    expect(await taken.catch((thrown: Error) => thrown.message)).to.match(/the connection to the other node broke/);
    stream.end(Buffer.alloc(1_000));
    expect(await skipped).to.equal('closed');
  });

  it('skips also what waits while the other end is held back, and no more than there may be under way', async () => {
    const block = Buffer.alloc(2 ** 20);
    stream.write(block);
    stream.write(block);
    await new Promise(setImmediate);
    expect(stream.isPaused()).to.equal(true);
    const skipped = wire.skip();
    for (let written = 0; written < 64; written++)
      if (!stream.write(block)) await new Promise(resolve => stream.once('drain', resolve));
    await skipped;
  });

  it('gives nothing that has arrived to whoever reads on after it was closed', async () => {
    stream.write(Buffer.concat([frame(Buffer.alloc(10)), frame(Buffer.alloc(10))]));
    const reading = wire.readFrames();
    await reading.next();
    wire.close();
    expect(await reading.next().catch((thrown: Error) => thrown.message)).to.match(/broke/);
  });

  it('reads what arrived before the other end closed', async () => {
    stream.end(frame(Buffer.alloc(10, 3)));
    await new Promise(resolve => stream.once('close', resolve));
    expect((await wire.readFrames().next()).value).to.deep.equal(Buffer.alloc(10, 3));
  });

  it('reads what arrived before the connection broke, and then says why it broke', async () => {
    stream.write('{"refused":"no_space"}\n');
    await new Promise(setImmediate);
    stream.destroy(new Error('reset by the peer'));
    await new Promise(setImmediate);
    expect(await wire.readLine()).to.equal('{"refused":"no_space"}');
    const failure = await wire.readLine().catch((thrown: Error) => thrown);
    expect(failure).to.have.property('cause').that.has.property('message', 'reset by the peer');
  });

  it('lets the other end wait while it does not read, and takes the rest when it does', async () => {
    const frames = Array.from({ length: 40 }, (_, at) => Buffer.alloc(100_000, at));
    const written = (async () => {
      for (const each of frames)
        if (!stream.write(frame(each))) await new Promise(resolve => stream.once('drain', resolve));
    })();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(stream.isPaused()).to.equal(true);
    const reading = wire.readFrames();
    for (const each of frames) expect(each.equals((await reading.next()).value as Buffer)).to.equal(true);
    await written;
  });
});
