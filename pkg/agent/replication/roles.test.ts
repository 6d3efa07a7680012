import { expect } from 'chai';

import { makeTerm } from '../../../crds/volume/terms.testing.js';
import type { ReplicationRecord } from './record.js';
import { decideRole, explainKept, type RoleStep } from './roles.js';
import { makeSyncName } from './memory-driver.testing.js';

const S = makeSyncName(1, 4);
const synced = { snapshot: S, at: '2026-01-01T00:00:00.000Z', ...makeTerm(1) };
const primary: ReplicationRecord = { ...makeTerm(2), role: 'primary' };
const replica: ReplicationRecord = { ...makeTerm(2), role: 'replica', synced };
const former: ReplicationRecord = { ...makeTerm(2), role: 'replica', synced: { ...synced, snapshot: 'divergent-1' } };

describe('the part of a node in the replication of a volume', () => {
  const cases: readonly (readonly [
    what: string,
    record: ReplicationRecord | undefined,
    assigned: readonly ['primary' | 'replica', number],
    snapshots: readonly string[],
    step: RoleStep['kind'],
  ])[] = [
    ['is noted where there was none', undefined, ['primary', 1], [], 'note'],
    ['is noted of a new copy', undefined, ['replica', 7], [], 'note'],
    ['is not noted of a primary that others have been before', undefined, ['primary', 2], [], 'refuse'],
    ['is not guessed where its record was lost', undefined, ['primary', 2], [S], 'refuse'],
    ['is not guessed beside what was set aside', undefined, ['replica', 2], ['divergent-1'], 'refuse'],
    ['stays as it is', primary, ['primary', 2], [S], 'none'],
    ['stays as it is, of a replica', replica, ['replica', 2], [S], 'none'],
    ['is not kept with a higher epoch: it was a copy in between', primary, ['primary', 3], [S], 'refuse'],
    ['is kept with a higher epoch, of a replica', replica, ['replica', 9], [S], 'note'],
    ['is promoted with a higher epoch', replica, ['primary', 3], [S], 'promote'],
    ['is not promoted in the same epoch', replica, ['primary', 2], [S], 'refuse'],
    [
      'is not promoted without a complete copy',
      { ...replica, synced: undefined } as never,
      ['primary', 3],
      [S],
      'refuse',
    ],
    ['is not promoted when its copy is gone', replica, ['primary', 3], [], 'refuse'],
    ['is promoted to what it had set aside itself', former, ['primary', 3], ['divergent-1'], 'promote'],
    ['is not promoted to what people have removed', former, ['primary', 3], [S], 'refuse'],
    ['is demoted with a higher epoch', primary, ['replica', 3], [S], 'demote'],
    ['is not demoted in the same epoch', primary, ['replica', 2], [S], 'refuse'],
    ['is given up for another first primary', { ...makeTerm(1), role: 'primary' }, ['replica', 1], [], 'step_back'],
    ['is not given up once it has sent copies', { ...makeTerm(1), role: 'primary' }, ['replica', 1], [S], 'refuse'],
    [
      'is not given up once it has taken a snapshot',
      { ...makeTerm(1), role: 'primary', times: { [S]: synced.at } },
      ['replica', 1],
      [],
      'refuse',
    ],
    ['is not given up in a later epoch', primary, ['replica', 2], [], 'refuse'],
    ['does not go back to a lower epoch', primary, ['primary', 1], [S], 'refuse'],
    ['does not become a replica of a lower epoch', primary, ['replica', 1], [S], 'refuse'],
  ];
  for (const [what, record, [role, epoch], snapshots, step] of cases) {
    it(what, () => {
      const decided = decideRole(record, { role, ...makeTerm(epoch) }, snapshots);
      expect(decided.kind).to.equal(step);
      if (decided.kind === 'promote') expect(decided.snapshot).to.equal(record?.synced?.snapshot);
      if (decided.kind === 'refuse') expect(decided.because).to.match(/.; ./);
    });
  }

  const other = { epoch: 2, generationId: 'f'.repeat(16) };
  for (const [what, record, role, kind] of [
    [
      'is taken anew by a copy in another generation of its epoch: what it has is of another history',
      replica,
      'replica',
      'note',
    ],
    ['is given up by the primary of another generation of the same epoch', primary, 'replica', 'demote'],
    ['is not that of the primary in another generation of the epoch of a copy', replica, 'primary', 'refuse'],
    ['is not that of the primary in another generation again', primary, 'primary', 'refuse'],
  ] as const) {
    it(what, () => {
      const decided = decideRole(record, { ...other, role }, [S]);
      expect(decided.kind).to.equal(kind);
      if (decided.kind === 'refuse') expect(decided.because).to.include('in another history');
    });
  }

  it('is not given up by one that has served: it says how to have its bytes back', () => {
    const served: ReplicationRecord = { ...makeTerm(1), role: 'primary', times: { [S]: synced.at } };
    const step = decideRole(served, { role: 'replica', ...makeTerm(1) }, [S]);
    expect(step)
      .to.have.property('because')
      .that.matches(/restore a newer backup .*, or copy out what is here/);
  });

  it('is promoted to the copy that the primary has vouched for, and not to a later one of which that is not known', () => {
    const later = makeSyncName(1, 9);
    expect(decideRole(replica, { role: 'primary', ...makeTerm(3) }, [S, later])).to.deep.equal({
      kind: 'promote',
      snapshot: S,
    });
  });
});

describe('an order to remove bytes', () => {
  const cases: readonly (readonly [
    what: string,
    record: ReplicationRecord | undefined,
    removedIn: number | undefined,
    isKept: boolean,
  ])[] = [
    ['is obeyed in the epoch of the copy', replica, 2, false],
    ['is obeyed in a later one', replica, 3, false],
    ['is refused in an earlier one', replica, 1, true],
    ['is refused in an earlier one by a primary', primary, 1, true],
    ['is refused while another node has a later epoch', replica, 0, true],
    ['is obeyed where nothing is remembered', undefined, 1, false],
    ['is refused where it names no epoch', replica, undefined, true],
    ['is refused where it names no epoch and nothing is remembered', undefined, undefined, true],
  ];
  for (const [what, record, removedIn, isKept] of cases) {
    it(what, () => {
      const order = removedIn === undefined ? {} : { removedIn, lineage: [1, 2, 3].map(makeTerm) };
      expect(explainKept(record, order) !== undefined).to.equal(isKept);
    });
  }

  it('of another history is refused, also when its epoch is later, with the way to have the bytes told', () => {
    const lineage = [{ epoch: 2, generationId: 'f'.repeat(16) }, makeTerm(3)];
    for (const removedIn of [2, 3]) {
      const order = { removedIn, lineage: lineage.slice(0, removedIn - 1) };
      expect(explainKept(replica, order)).to.match(/another history .* bytes are kept: ask for the copy again/);
    }
  });
});
