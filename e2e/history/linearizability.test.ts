import { expect } from 'chai';

import { seededRandom } from '../../pkg/clock/index.js';
import { checkLinearizability } from './linearizability.js';
import type { HistoryRecord, ReadRecord, WriteOutcome, WriteRecord } from './records.js';

type Span = readonly [begin: number, end: number];

const read = ([begin, end]: Span, revision: number, bytes?: string, key = 'k'): ReadRecord => ({
  kind: 'read',
  process: 'p',
  begin,
  end,
  key,
  revision,
  bytes,
});

interface WriteOptions {
  readonly at?: number;
  readonly bytes?: string | undefined;
  readonly revision?: number;
  readonly outcome?: WriteOutcome;
}

function write([begin, end]: Span, options: WriteOptions): WriteRecord {
  const { at = 0, revision, outcome = revision === undefined ? 'refused' : 'stored' } = options;
  const bytes = 'bytes' in options ? options.bytes : 'x';
  const writes = [{ key: 'k', guardedAt: at, bytes }];
  return { kind: 'write', process: 'p', begin, end, writes, outcome, ...(revision === undefined ? {} : { revision }) };
}

describe('linearizability check', () => {
  const sound: readonly (readonly [string, readonly HistoryRecord[]])[] = [
    ['a write and a later read of it', [write([0, 1], { revision: 2 }), read([2, 3], 2, 'x')]],
    ['a read that overlaps a write and sees it', [write([0, 5], { revision: 2 }), read([1, 2], 2, 'x')]],
    ['a read that overlaps a write and does not see it', [write([0, 5], { revision: 2 }), read([1, 2], 0)]],
    ['an unknown write that is read', [write([0, 1], { outcome: 'unknown' }), read([2, 3], 2, 'x')]],
    ['an unknown write that is never read', [write([0, 1], { outcome: 'unknown' }), read([2, 3], 0)]],
    [
      'an unknown write that takes effect late',
      [write([0, 1], { outcome: 'unknown' }), read([2, 3], 0), read([4, 5], 2, 'x')],
    ],
    ['a failed write that is not there', [write([0, 1], { outcome: 'failed' }), read([2, 3], 0)]],
    ['a refusal that another write explains', [write([0, 1], { revision: 2 }), write([2, 3], { at: 0 })]],
    [
      'a refusal that a concurrent write explains',
      [write([0, 9], { revision: 2 }), write([1, 2], { at: 0 }), read([10, 11], 2, 'x')],
    ],
    [
      'a write after an unknown one that was read',
      [
        write([0, 1], { outcome: 'unknown' }),
        read([2, 3], 7, 'x'),
        write([4, 5], { at: 7, revision: 9, bytes: 'y' }),
        read([6, 7], 9, 'y'),
      ],
    ],
    [
      'one change that two clients with identical bytes were told of',
      [write([0, 5], { revision: 2 }), write([1, 4], { revision: 2 }), read([6, 7], 2, 'x')],
    ],
    [
      'one change that two clients with identical bytes were told of, of which the first has a proof',
      [{ ...write([0, 5], { revision: 2 }), isProven: true }, write([1, 4], { revision: 2 }), read([6, 7], 2, 'x')],
    ],
    [
      'one change that two clients with identical bytes were told of, of which the second has a proof',
      [write([0, 5], { revision: 2 }), { ...write([1, 4], { revision: 2 }), isProven: true }, read([6, 7], 2, 'x')],
    ],
    [
      'a delete and a new key',
      [
        write([0, 1], { revision: 2 }),
        write([2, 3], { at: 2, revision: 3, bytes: undefined }),
        read([4, 5], 0),
        write([6, 7], { at: 0, revision: 4 }),
      ],
    ],
  ];
  for (const [title, history] of sound) {
    it(`accepts ${title}`, () => expect(checkLinearizability(history)).to.deep.equal([]));
  }

  const broken: readonly (readonly [string, readonly HistoryRecord[]])[] = [
    ['a read that misses an acknowledged write', [write([0, 1], { revision: 2 }), read([2, 3], 0)]],
    ['a read of other bytes than were written', [write([0, 1], { revision: 2 }), read([2, 3], 2, 'y')]],
    ['a read of a failed write', [write([0, 1], { outcome: 'failed' }), read([2, 3], 2, 'x')]],
    ['a read of a refused write', [write([0, 1], { at: 5 }), read([2, 3], 2, 'x')]],
    [
      'a read that goes back in time',
      [
        write([0, 1], { revision: 2 }),
        write([0, 9], { at: 2, revision: 3, bytes: 'y' }),
        read([2, 3], 3, 'y'),
        read([4, 5], 2, 'x'),
      ],
    ],
    [
      'two acknowledged writes behind one guard',
      [write([0, 1], { revision: 2 }), write([0, 1], { at: 0, revision: 3, bytes: 'y' })],
    ],
    [
      'one change that two clients were told of, each proven by something of its own',
      [1, 2].map(() => ({ ...write([0, 5], { revision: 2 }), isProven: true })),
    ],
    ['a refusal that nothing explains', [write([0, 1], { at: 0 })]],
    ['an unknown write that is undone', [write([0, 1], { outcome: 'unknown' }), read([2, 3], 2, 'x'), read([4, 5], 0)]],
    [
      'a deleted key that comes back',
      [write([0, 1], { revision: 2 }), write([2, 3], { at: 2, revision: 3, bytes: undefined }), read([4, 5], 2, 'x')],
    ],
  ];
  for (const [title, history] of broken) {
    it(`catches ${title}`, () => {
      const violations = checkLinearizability(history);
      expect(violations).to.have.length(1);
      expect(violations[0]!.promise).to.equal('linearizable');
    });
  }

  /** A true history of several clients on one key: each operation takes effect somewhere within its time. */
  function generate(seed: number, length = 200): HistoryRecord[] {
    const random = seededRandom(seed);
    const history: HistoryRecord[] = [];
    let state = { revision: 0, bytes: undefined as string | undefined };
    for (let n = 1; n <= length; n++) {
      const span: Span = [n * 10 - random.next() * 40, n * 10 + random.next() * 40];
      const roll = random.next();
      if (roll < 0.4) {
        history.push(read(span, state.revision, state.bytes));
      } else if (roll < 0.55) {
        history.push(write(span, { at: state.revision + 1_000 }));
      } else {
        const bytes = state.bytes !== undefined && roll > 0.9 ? undefined : random.next() < 0.3 ? 'same' : `v${n}`;
        const lost = random.next() < 0.05;
        const at = state.revision;
        history.push(lost ? write(span, { at, bytes, outcome: 'unknown' }) : write(span, { at, bytes, revision: n }));
        if (!lost || random.next() < 0.5) state = { revision: bytes === undefined ? 0 : n, bytes };
      }
    }
    return history;
  }

  it('begins with what was restored', () => {
    const restored = new Map([['k', { revision: 7, bytes: 'old' }]]);
    const [seen, changed] = [read([0, 1], 7, 'old'), write([2, 3], { at: 7, revision: 8 })];
    expect(checkLinearizability([seen, changed, read([4, 5], 8, 'x')], restored)).to.deep.equal([]);
    expect(checkLinearizability([seen, changed])).to.have.length(1);
    expect(checkLinearizability([changed, read([4, 5], 7, 'old')], restored)).to.have.length(1);
    expect(checkLinearizability([read([0, 1], 0)], restored)).to.have.length(1);
  });

  it('accepts true histories of concurrent clients', () => {
    for (let seed = 1; seed <= 50; seed++)
      expect(checkLinearizability(generate(seed)), `seed ${seed}`).to.deep.equal([]);
  });

  it('catches every true history in which one read was moved behind a later write', () => {
    let corrupted = 0;
    for (let seed = 1; seed <= 100; seed++) {
      const history = generate(seed).filter(record => !(record.kind === 'write' && record.outcome === 'unknown'));
      const first = history.find(record => record.kind === 'read' && record.revision > 0) as ReadRecord | undefined;
      const overwritten = history.find(
        (record): record is WriteRecord =>
          record.kind === 'write' && record.outcome === 'stored' && record.writes[0]!.guardedAt === first?.revision,
      );
      if (!first || !overwritten) continue;
      corrupted++;
      history.push({ ...first, begin: overwritten.end + 1, end: overwritten.end + 2 });
      expect(checkLinearizability(history), `seed ${seed}`).to.have.length(1);
    }
    expect(corrupted).to.be.greaterThan(50);
  });
});
