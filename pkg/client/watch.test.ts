import { expect } from 'chai';

import { type Clock, seededRandom } from '../clock/index.js';
import { type WatchChange, type StreamAnswer, type ClientRejection, UnreachableFault } from './answer.js';
import type { QueryParameters } from './transport.js';
import { watch, type WatchOptions } from './watch.js';

interface Thing {
  readonly id: string;
  readonly n?: number;
}

/** What one connection does: lines, then an ending. */
type Script = readonly (readonly [type: string, cursor: string, object?: Thing] | 'cut')[] | StreamAnswer | Error;

/** Timers fire at once, except long ones, which never do. */
const impatient: Clock = {
  now: () => 0,
  monotonic: () => 0,
  after(ms, fire) {
    if (ms < 10_000) queueMicrotask(fire);
    return () => undefined;
  },
};

const refusal = (status: number): StreamAnswer => ({
  ok: false,
  status,
  rejections: [{ code: 'x' } as ClientRejection],
});

function scripted(scripts: readonly Script[]) {
  const asked: QueryParameters[] = [];
  const left = [...scripts];
  const open = async (query: QueryParameters): Promise<StreamAnswer> => {
    asked.push(query);
    const script = left.shift();
    if (script === undefined) throw new Error('asked too often');
    if (script instanceof Error) throw script;
    return 'ok' in script ? script : { ok: true, body: bodyOf(script) };
  };
  return { asked, open };
}

async function* bodyOf(script: Exclude<Script, StreamAnswer | Error>): AsyncGenerator<Buffer> {
  for (const step of script) {
    if (step === 'cut') throw new UnreachableFault('x', 'cut');
    const [type, cursor, object] = step;
    yield Buffer.from(`${JSON.stringify({ type, cursor, object })}\n`);
  }
}

async function follow(scripts: readonly Script[], count: number, options: WatchOptions = {}) {
  const { asked, open } = scripted(scripts);
  const seen: string[] = [];
  for await (const change of watch<Thing>(open, options, { clock: impatient, random: seededRandom(1) })) {
    seen.push(tell(change));
    if (seen.length === count) break;
  }
  return { seen, asked };
}

function tell(change: WatchChange<Thing>): string {
  if (change.type === 'refused') return `refused ${change.refusal.status}`;
  if (change.type === 'bookmark') return `bookmark ${change.cursor}`;
  return `${change.type} ${change.object.id}${change.object.n ?? ''}`;
}

const a = (n: number): Thing => ({ id: 'a', n });
const b = (n: number): Thing => ({ id: 'b', n });

describe('watch', () => {
  it('resumes after the last line, without gap or duplicate', async () => {
    const { seen, asked } = await follow(
      [[['added', '1', a(1)], ['bookmark', '1'], ['modified', '2', a(2)], 'cut'], [['modified', '3', a(3)]]],
      4,
    );

    expect(seen).to.deep.equal(['added a1', 'bookmark 1', 'modified a2', 'modified a3']);
    expect(asked).to.deep.equal([{ watch: true }, { watch: true, after: '2' }]);
  });

  it('reads the list again when the connection closed within it', async () => {
    const { seen, asked } = await follow(
      [
        [['added', '5', a(1)], ['added', '5', b(1)], 'cut'],
        [
          ['added', '6', a(1)],
          ['bookmark', '6'],
        ],
      ],
      4,
    );

    expect(seen).to.deep.equal(['added a1', 'added b1', 'deleted b1', 'bookmark 6']);
    expect(asked).to.deep.equal([{ watch: true }, { watch: true }]);
  });

  for (const [how, gone] of [
    ['a gone line', [['gone', '']]],
    ['an answer of 410', refusal(410)],
  ] as const) {
    it(`delivers what changed and what was deleted after ${how}`, async () => {
      const { seen, asked } = await follow(
        [
          [['added', '1', a(1)], ['added', '1', b(1)], ['bookmark', '1'], 'cut'],
          gone as Script,
          [
            ['added', '9', a(2)],
            ['added', '9', { id: 'c' }],
            ['bookmark', '9'],
          ],
        ],
        7,
      );

      expect(seen.slice(3)).to.deep.equal(['modified a2', 'added c', 'deleted b1', 'bookmark 9']);
      expect(asked.map(({ after }) => after)).to.deep.equal([undefined, '1', undefined]);
    });
  }

  it('delivers no object that a second list shows unchanged', async () => {
    const { seen } = await follow(
      [
        [
          ['added', '1', a(1)],
          ['bookmark', '1'],
          ['gone', ''],
        ],
        [
          ['added', '2', a(1)],
          ['bookmark', '2'],
        ],
      ],
      3,
    );

    expect(seen).to.deep.equal(['added a1', 'bookmark 1', 'bookmark 2']);
  });

  it('begins after a given cursor', async () => {
    const { asked } = await follow([[['modified', '8', a(1)]]], 1, { after: '7' });

    expect(asked).to.deep.equal([{ watch: true, after: '7' }]);
  });

  it('waits for a server that is busy or restarting', async () => {
    const { seen } = await follow([refusal(503), refusal(429), [['bookmark', '1']]], 1);

    expect(seen).to.deep.equal(['bookmark 1']);
  });

  it('ends with the refusal of the server', async () => {
    const { seen } = await follow([refusal(403)], 5);

    expect(seen).to.deep.equal(['refused 403']);
  });

  it('throws when the server was never reached, and reconnects when it was', async () => {
    const away = new UnreachableFault('x', 'away');
    const connection: boolean[] = [];

    const first = await follow([away], 1).catch((thrown: unknown) => thrown);
    const later = await follow([[['bookmark', '1'], 'cut'], away, away, [['bookmark', '2']]], 2, {
      onConnection: up => connection.push(up),
    });

    expect(first).to.equal(away);
    expect(later.seen).to.deep.equal(['bookmark 1', 'bookmark 2']);
    expect(connection).to.deep.equal([false, true]);
  });

  it('stops when its signal is aborted', async () => {
    const stop = new AbortController();
    const { open } = scripted([[['bookmark', '1'], 'cut'], [['bookmark', '2']]]);
    const seen: string[] = [];

    for await (const change of watch<Thing>(
      open,
      { signal: stop.signal },
      { clock: impatient, random: seededRandom(1) },
    )) {
      seen.push(tell(change));
      stop.abort();
    }

    expect(seen).to.deep.equal(['bookmark 1']);
  });
});
