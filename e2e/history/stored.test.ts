import { expect } from 'chai';

import {
  checkExactlyOnce,
  checkFencing,
  checkTail,
  type KeyChange,
  type TailFrame,
  type WriteRecord,
} from './index.js';

const event = (revision: number, key: string, bytes: string | undefined = 'x', created = revision): KeyChange => ({
  revision,
  key,
  bytes,
  created,
});
const deleted = (revision: number, key: string): KeyChange => ({ revision, key, bytes: undefined, created: 0 });

type WriteFacts = Partial<Pick<WriteRecord, 'outcome' | 'revision' | 'fence' | 'isProven'>>;

function change(
  told: WriteFacts,
  ...writes: readonly (readonly [key: string, guardedAt: number, bytes?: string | null])[]
) {
  const record: WriteRecord = {
    kind: 'write',
    process: 'p',
    begin: 0,
    end: 1,
    outcome: told.revision === undefined ? 'refused' : 'stored',
    ...told,
    writes: writes.map(([key, guardedAt, bytes = 'x']) => ({ key, guardedAt, bytes: bytes ?? undefined })),
  };
  return record;
}

describe('exactly-once check', () => {
  it('accepts what was acknowledged, refused and lost, with identical bytes', () => {
    const history = [
      change({ revision: 2 }, ['a', 0]),
      change({}, ['a', 0]),
      change({ outcome: 'unknown' }, ['a', 2]),
      change({ outcome: 'unknown' }, ['b', 0]),
      change({ revision: 4 }, ['a', 3, null]),
      change({ outcome: 'failed' }, ['c', 0]),
    ];
    expect(
      checkExactlyOnce(history, [event(2, 'a'), event(3, 'a'), deleted(4, 'a'), event(5, 'others')]),
    ).to.deep.equal([]);
  });

  it('accepts two acknowledgements of one delete', () => {
    const removal = change({ revision: 3 }, ['a', 2, null]);
    expect(
      checkExactlyOnce([change({ revision: 2 }, ['a', 0]), removal, removal], [event(2, 'a'), deleted(3, 'a')]),
    ).to.deep.equal([]);
  });

  it('accepts two acknowledgements of one change with identical bytes, of which one at most is proven', () => {
    for (const isProven of [true, false]) {
      const history = [change({ revision: 2, isProven }, ['a', 0]), change({ revision: 2 }, ['a', 0])];
      expect(checkExactlyOnce(history, [event(2, 'a')])).to.deep.equal([]);
      expect(checkExactlyOnce(history.toReversed(), [event(2, 'a')])).to.deep.equal([]);
    }
  });

  const broken: readonly (readonly [string, string, readonly WriteRecord[], readonly KeyChange[]])[] = [
    ['an acknowledged change that is not there', 'nothing lost', [change({ revision: 2 }, ['a', 0])], []],
    [
      'an acknowledged change with other bytes',
      'nothing lost',
      [change({ revision: 2 }, ['a', 0])],
      [event(2, 'a', 'y')],
    ],
    [
      'an acknowledged delete that left the key',
      'nothing lost',
      [change({ revision: 2 }, ['a', 0]), change({ revision: 3 }, ['a', 2, null])],
      [event(2, 'a')],
    ],
    ['half of an acknowledged change', 'nothing lost', [change({ revision: 2 }, ['a', 0], ['b', 0])], [event(2, 'a')]],
    ['a refused change that is there', 'nothing refused', [change({}, ['a', 0])], [event(2, 'a')]],
    ['a failed change that is there', 'nothing refused', [change({ outcome: 'failed' }, ['a', 0])], [event(2, 'a')]],
    [
      'a change that was made twice',
      'nothing doubled',
      [change({ revision: 2 }, ['a', 0])],
      [event(2, 'a'), event(3, 'a')],
    ],
    [
      'an unknown change that was made twice',
      'nothing doubled',
      [change({ outcome: 'unknown' }, ['a', 0])],
      [event(2, 'a'), event(3, 'a')],
    ],
    [
      'a late copy of a change after its key was made anew',
      'nothing doubled',
      [change({ revision: 2 }, ['a', 0]), change({ revision: 3 }, ['a', 2, null])],
      [event(2, 'a'), deleted(3, 'a'), event(4, 'a')],
    ],
    [
      'half of an unknown change',
      'nothing doubled',
      [change({ outcome: 'unknown' }, ['a', 0], ['b', 0])],
      [event(2, 'a')],
    ],
    [
      'a change that was acknowledged though its guard did not hold',
      'nothing refused',
      [change({ revision: 2 }, ['a', 0]), change({ revision: 3 }, ['a', 0, 'y'])],
      [event(2, 'a'), event(3, 'a', 'y')],
    ],
    [
      'two acknowledgements of one change, each proven by something of its own',
      'nothing lost',
      [change({ revision: 2, isProven: true }, ['a', 0]), change({ revision: 2, isProven: true }, ['a', 0])],
      [event(2, 'a')],
    ],
  ];
  for (const [title, promise, history, stored] of broken) {
    it(`catches ${title}`, () => {
      expect(checkExactlyOnce(history, stored).map(violation => violation.promise)).to.include(promise);
    });
  }
});

describe('fencing check', () => {
  const options = {
    leaderKey: 'leader',
    fenceOf: ({ key, bytes }: KeyChange) => (key.startsWith('led/') && bytes !== undefined ? Number(bytes) : undefined),
  };

  it('accepts changes of the leader of the moment', () => {
    const stored = [
      event(2, 'leader'),
      event(3, 'led/a', '2'),
      deleted(4, 'leader'),
      event(5, 'leader'),
      event(6, 'led/b', '5'),
    ];
    expect(checkFencing(stored, options)).to.deep.equal([]);
  });

  it('accepts a leader that has changed its own record', () => {
    expect(
      checkFencing([event(2, 'leader'), event(3, 'leader', 'y', 2), event(4, 'led/a', '2')], options),
    ).to.deep.equal([]);
  });

  it('catches a change of a leader whose lease has ended', () => {
    expect(checkFencing([event(2, 'leader'), deleted(3, 'leader'), event(4, 'led/a', '2')], options)).to.have.length(1);
  });

  it('catches a change of a deposed leader while another one leads', () => {
    const stored = [event(2, 'leader'), deleted(3, 'leader'), event(4, 'leader'), event(5, 'led/a', '2')];
    expect(checkFencing(stored, options)[0]!.because).to.contain('by the leader of 2 while the leader of 4 led');
  });
});

describe('tail check', () => {
  const reset = (revision: number, ...entries: readonly (readonly [string, number])[]): TailFrame => ({
    kind: 'reset',
    process: 'p',
    at: 0,
    revision,
    entries,
  });
  const told = (revision: number, ...changes: readonly (readonly [string, boolean])[]): TailFrame => ({
    kind: 'changes',
    process: 'p',
    at: 0,
    revision,
    changes,
  });
  const stored = [event(2, 'a'), event(4, 'b'), event(4, 'c'), event(6, 'a', 'y', 2), deleted(7, 'a')];
  const whole = [told(4, ['b', true], ['c', true]), told(6, ['a', true]), told(7, ['a', false])];

  it('accepts a complete tail', () => expect(checkTail([reset(3, ['a', 2]), ...whole], stored)).to.deep.equal([]));

  it('accepts a tail that was reset to a newer state', () => {
    expect(checkTail([reset(3, ['a', 2]), reset(6, ['a', 6], ['b', 4], ['c', 4]), whole[2]!], stored)).to.deep.equal(
      [],
    );
  });

  const broken: readonly (readonly [string, readonly TailFrame[]])[] = [
    ['a gap', [reset(3, ['a', 2]), whole[0]!, whole[2]!]],
    ['a duplicate', [reset(3, ['a', 2]), whole[0]!, whole[0]!, whole[1]!, whole[2]!]],
    ['a replay after later changes', [reset(3, ['a', 2]), ...whole, whole[1]!]],
    ['half of a revision', [reset(3, ['a', 2]), told(4, ['b', true]), ...whole.slice(1)]],
    ['a delete that was told as a put', [reset(3, ['a', 2]), whole[0]!, whole[1]!, told(7, ['a', true])]],
    ['a state that lacks a key', [reset(4, ['a', 2], ['b', 4])]],
    ['a state with a deleted key', [reset(7, ['a', 6], ['b', 4], ['c', 4])]],
    ['a state with a key that never was', [reset(2, ['a', 2], ['z', 1])]],
    ['a reset to an older state', [reset(4, ['a', 2], ['b', 4], ['c', 4]), reset(2, ['a', 2])]],
    ['changes before any state', [whole[0]!]],
    ['a change that was never stored', [reset(3, ['a', 2]), ...whole, told(9, ['z', true])]],
  ];
  for (const [title, frames] of broken) {
    it(`catches ${title}`, () => expect(checkTail(frames, stored)).to.have.length.greaterThan(0));
  }
});
