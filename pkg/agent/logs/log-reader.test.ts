import { expect } from 'chai';
import fc from 'fast-check';

import type { ContainerLogOptions, LogEntry } from '../engine/index.js';
import { formatPosition, LogReader, type LogStart, type MarkedEntry, parsePosition } from './log-reader.js';

/** A log as an engine keeps it: it grows at its end, and rotation removes from its beginning. */
class FakeLog {
  entries: LogEntry[] = [];
  reads = 0;
  readonly #written: string[] = [];

  print(at: number, stream: LogEntry['stream'] = 'stdout'): void {
    const text = `${this.#written.length}\n`;
    this.#written.push(text);
    this.entries.push({ stream, at: `${String(at).padStart(10, '0')}.000000000`, bytes: Buffer.from(text) });
  }

  /** Never between entries of one time: engines remove whole files, long after they were written. */
  rotate(kept: number): void {
    let cut = Math.max(0, this.entries.length - kept);
    const splitsGroup = (stream: LogEntry['stream']) => {
      const isOf = (entry: LogEntry) => entry.stream === stream;
      const before = this.entries.slice(0, cut).findLast(isOf)?.at;
      return before !== undefined && before === this.entries.slice(cut).find(isOf)?.at;
    };
    while (splitsGroup('stdout') || splitsGroup('stderr')) cut--;
    this.entries = this.entries.slice(cut);
  }

  /** All lines ever written. */
  get written(): readonly string[] {
    return this.#written;
  }

  async *read({ tail, since = '' }: ContainerLogOptions): AsyncGenerator<LogEntry> {
    this.reads++;
    const last = tail === undefined ? this.entries : this.entries.slice(Math.max(0, this.entries.length - tail));
    yield* last.filter(({ at }) => at >= since);
  }
}

const open = (log: FakeLog, start: LogStart = {}) => new LogReader(options => log.read(options), start);

async function take(reader: LogReader): Promise<readonly MarkedEntry[]> {
  const found: MarkedEntry[] = [];
  for await (const marked of reader.readNew()) found.push(marked);
  return found;
}
const texts = (found: readonly MarkedEntry[]) => found.map(({ entry }) => entry.bytes.toString());

describe('log reader', () => {
  it('reads every entry once, whatever times they have, resumed at any of them, while the log is rotated', async () => {
    const step = fc.oneof(
      fc.record({ at: fc.integer({ min: 0, max: 6 }), stream: fc.constantFrom('stdout' as const, 'stderr' as const) }),
      fc.constant('read' as const),
      fc.constant('resume' as const),
      fc.constant('rotate' as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
        const log = new FakeLog();
        const read: MarkedEntry[] = [];
        let reader = open(log);
        let era = 0;
        for (const each of steps) {
          if (each === 'read') read.push(...(await take(reader)));
          // What was read may be rotated away; never more, or lines would be lost that were not read yet.
          else if (each === 'rotate') {
            log.rotate(log.written.length - read.length);
            era += 10_000;
          } else if (each === 'resume') {
            const last = read.at(-1);
            reader = open(
              log,
              last
                ? { after: parsePosition(formatPosition({ container: 'c'.repeat(64), mark: last.mark }))!.mark }
                : {},
            );
          } else {
            // A time of its own, which may be earlier than the last, or again that of the entry before in its stream.
            const last = log.entries.findLast(({ stream }) => stream === each.stream);
            const isSame = each.at === 0 && last !== undefined && log.entries.length > 0;
            log.print(isSame ? Number(last.at) : era + each.at * 1_000 + log.written.length, each.stream);
          }
        }
        read.push(...(await take(reader)));
        expect(texts(read)).to.deep.equal(log.written);
      }),
      { numRuns: 500 },
    );
  });

  it('finds its place in a long log by reading little of it, and in all of it when it must', async () => {
    const log = new FakeLog();
    for (let at = 0; at < 20_000; at++) log.print(at);
    const reader = open(log, { tail: 3 });
    expect(texts(await take(reader))).to.deep.equal(log.written.slice(-3));
    for (const more of [10, 1_000, 9_000]) {
      const from = log.written.length;
      for (let count = 0; count < more; count++) log.print(from + count);
      expect(texts(await take(reader))).to.deep.equal(log.written.slice(from));
      expect(reader.hasGap).to.equal(false);
    }
    expect(await take(reader)).to.deep.equal([]);
  });

  for (const [what, errors] of [
    ['after many of the other stream', 21_000],
    ['among many of its own time', 0],
  ] as const) {
    it(`repeats nothing when it stands ${what}, all written within a second`, async () => {
      const log = new FakeLog();
      for (let n = 0; n < errors; n++) log.print(5, 'stderr');
      for (let n = 0; n < (errors > 0 ? 1 : 21_000); n++) log.print(5);
      const reader = open(log);
      expect(await take(reader)).to.have.length(log.written.length);
      expect(await take(reader)).to.have.length(0);
      log.print(5);
      expect(texts(await take(reader))).to.deep.equal([log.written.at(-1)]);
      expect(reader.hasGap).to.equal(false);
    });
  }

  it('holds no window of large entries, and reads each of them once all the same', async () => {
    const large = Buffer.alloc(16 * 1024);
    const log = new FakeLog();
    const print = (count: number) => {
      for (let n = 0; n < count; n++) {
        log.print(log.written.length);
        log.entries.push({ ...log.entries.pop()!, bytes: large });
      }
    };
    print(300);
    const reader = open(log, { tail: 200 });
    expect(await take(reader)).to.have.length(200);
    expect(log.reads, 'a window, a look for the mark, and what follows it').to.equal(3);
    print(100);
    expect(await take(reader)).to.have.length(100);
    expect(log.reads).to.equal(6);
    expect(await take(open(log, { tail: 1_000 }))).to.have.length(400);
    expect(log.reads).to.equal(8);
  });

  it('says that lines are lost, and gives what is left', async () => {
    const log = new FakeLog();
    for (let at = 0; at < 10; at++) log.print(at);
    const reader = open(log);
    await take(reader);
    for (let at = 10; at < 9_000; at++) log.print(at);
    log.rotate(5_000);
    expect(texts(await take(reader))).to.deep.equal(log.written.slice(-5_000));
    expect(reader.hasGap).to.equal(true);
  });

  it('begins with the last entries, with none, or at a time, and goes on from there', async () => {
    const cases: readonly (readonly [LogStart, number])[] = [
      [{}, 0],
      [{ tail: 2 }, 8],
      [{ tail: 0 }, 10],
      [{ tail: 50 }, 0],
      [{ since: '0000000007.000000000' }, 7],
      [{ since: '0000000007.000000000', tail: 1 }, 9],
      [{ since: '0000000999.000000000' }, 10],
    ];
    for (const [start, first] of cases) {
      const log = new FakeLog();
      for (let at = 0; at < 10; at++) log.print(at);
      const reader = open(log, start);
      expect(texts(await take(reader)), JSON.stringify(start)).to.deep.equal(log.written.slice(first));
      if (start.since === '0000000999.000000000') continue;
      for (let at = 10; at < 400; at++) log.print(at);
      expect(texts(await take(reader)), JSON.stringify(start)).to.deep.equal(log.written.slice(10));
    }
  });

  it('gives all that an empty log gets later, however few lines were asked for', async () => {
    const log = new FakeLog();
    const reader = open(log, { tail: 1 });
    expect(await take(reader)).to.deep.equal([]);
    for (let at = 0; at < 5; at++) log.print(at);
    expect(texts(await take(reader))).to.deep.equal(log.written);
  });

  it('reads no position that it did not write', () => {
    const mark = { stream: 'stderr', at: '1763239738.000000042', count: 2 } as const;
    const text = formatPosition({ container: 'a'.repeat(64), mark });
    expect(parsePosition(text)).to.deep.equal({ container: 'a'.repeat(64), mark });
    for (const wrong of ['', text.slice(1, 30), `${text}0000000000`, text.replace('stderr', 'stdin'), `../${text}`]) {
      expect(parsePosition(wrong), wrong).to.equal(undefined);
    }
  });
});
