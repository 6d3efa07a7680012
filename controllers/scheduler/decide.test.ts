import { expect } from 'chai';

import type { Refused, Scheduling } from '../../crds/scheduling/index.js';
import type { Placed } from '../../pkg/placement/index.js';
import { decideSaying, verdictOf } from './decide.js';

const NOW = Date.UTC(2030, 0, 1);

const refusal = (filter: string, required: string, reported: string) => ({ filter, required, reported, message: 'm' });
const refused = (node: string, ...reasons: Refused['reasons']): Refused => ({ node, reasons });

const placed = (unplaced: number, ...nodes: Refused[]): Placed => ({
  nodes: [],
  unplaced,
  afterwards: { able: [], refused: nodes },
});

const verdict = verdictOf(
  'dep_1',
  placed(2, refused('b', refusal('ready', 'ready', 'failed')), refused('a', refusal('resources', '500m', '100m free'))),
);

const standing = (change: Partial<Scheduling> = {}, agoMs = 0): Scheduling => {
  const { candidates: _, ...rest } = verdict;
  return { ...rest, event: 'evt_1', lastSeenAt: new Date(NOW - agoMs).toISOString(), ...change };
};

describe('scheduler decides what to say', () => {
  it('keeps every candidate, by name, with a summary', () => {
    expect(verdict.candidates.map(({ node }) => node)).to.deep.equal(['a', 'b']);
    expect(verdict.summary).to.equal('0 of 2 nodes: 1 ready, 1 resources');
  });

  it('has one cause whatever the order of the nodes and however much they have free', () => {
    const later = verdictOf(
      'dep_1',
      placed(
        2,
        refused('a', refusal('resources', '500m', '90m free')),
        refused('b', refusal('ready', 'ready', 'failed')),
      ),
    );
    expect(later.cause).to.equal(verdict.cause);
    expect(later.details).to.not.equal(verdict.details);
  });

  it('has another cause for another node, filter or requirement', () => {
    const causes = [
      placed(2, refused('b', refusal('ready', 'ready', 'failed'))),
      placed(2, refused('b', refusal('ready', 'ready', 'failed')), refused('a', refusal('port', '500m', '100m free'))),
      placed(
        2,
        refused('b', refusal('ready', 'ready', 'failed')),
        refused('a', refusal('resources', '501m', '100m free')),
      ),
    ].map(found => verdictOf('dep_1', found).cause);
    expect(new Set([verdict.cause, ...causes]).size).to.equal(4);
  });

  const cases: readonly { name: string; standing: Scheduling | undefined; kind: string }[] = [
    { name: 'a first cause is new', standing: undefined, kind: 'new' },
    {
      name: 'the cause of an earlier deployment of the name does not count',
      standing: standing({ uid: 'dep_0' }),
      kind: 'new',
    },
    { name: 'another cause is new', standing: standing({ cause: 'other' }), kind: 'new' },
    { name: 'a standing cause says nothing', standing: standing({}, 3_600_000), kind: 'nothing' },
    { name: 'a changed detail counts up', standing: standing({ details: 'other' }, 61_000), kind: 'again' },
    { name: 'a changed number counts up', standing: standing({ unplaced: 1 }, 61_000), kind: 'again' },
    {
      name: 'a changed detail waits when the event was counted up a moment ago',
      standing: standing({ details: 'other' }, 20_000),
      kind: 'later',
    },
    {
      name: 'a record from the future does not silence',
      standing: standing({ details: 'other' }, -3_600_000),
      kind: 'again',
    },
  ];

  for (const given of cases) {
    it(given.name, () => {
      expect(decideSaying(verdict, given.standing, NOW).kind).to.equal(given.kind);
    });
  }
});
