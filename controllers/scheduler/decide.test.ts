import { expect } from 'chai';

import { refusal, type Refused, type Scheduling, ungrouped } from '../../crds/scheduling/index.js';
import type { Placed, Workload } from '../../pkg/placement/index.js';
import { amended, decideSaying, verdictOf } from './decide.js';

const NOW = Date.UTC(2030, 0, 1);

const refused = (node: string, ...reasons: Refused['reasons']): Refused => ({ node, reasons });
const asking = { residency: undefined } as unknown as Workload;
const german = {
  residency: { asked: { country: 'DE' }, regions: { enforced: true, declared: [] } },
} as unknown as Workload;

const placed = (unplaced: number, ...nodes: Refused[]): Placed => ({ nodes: [], unplaced, refused: nodes });
const judged = (found: Placed, what = asking) => verdictOf('dep_1', found, what)!;

const verdict = judged(
  placed(2, refused('b', refusal('ready', 'ready', 'failed')), refused('a', refusal('resources', '500m', '100m free'))),
);

const standing = (change: Partial<Scheduling> = {}, agoMs = 0): Scheduling => {
  const { groups: _, ...rest } = verdict;
  return { ...rest, event: 'evt_1', lastSeenAt: new Date(NOW - agoMs).toISOString(), ...change };
};

describe('scheduler decides what to say', () => {
  it('says nothing when every replica has found a node', () => {
    expect(verdictOf('dep_1', placed(0), asking)).to.equal(undefined);
  });

  it('keeps every candidate, by name, with a summary', () => {
    expect(ungrouped(verdict.groups).map(({ node }) => node)).to.deep.equal(['a', 'b']);
    expect(verdict.summary).to.equal('0 of 2 nodes: 1 ready, 1 resources');
    expect(verdict.filters).to.deep.equal(['ready', 'resources']);
  });

  it('knows when it is residency that leaves nothing', () => {
    const elsewhere = placed(1, refused('a', refusal('residency', 'country DE', 'country FR')));
    expect(judged(elsewhere, german).residencyUnmet).to.equal(true);
    expect(judged(placed(1, refused('a', refusal('port', '80/tcp', '80/tcp taken'))), german).residencyUnmet).to.equal(
      false,
    );
    expect(judged(placed(1), asking).residencyUnmet).to.equal(false);
  });

  it('has one cause whatever the order of the nodes and however much they have free', () => {
    const later = judged(
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
    ].map(found => judged(found).cause);
    expect(new Set([verdict.cause, ...causes]).size).to.equal(4);
  });

  const fewer = judged({ ...placed(1), refused: ungrouped(verdict.groups) });
  const { event: _, ...unannounced } = standing({}, 61_000);

  const cases: readonly { name: string; standing: Scheduling | undefined; kind: string }[] = [
    { name: 'a first cause is new', standing: undefined, kind: 'new' },
    {
      name: 'the cause of an earlier deployment of the name does not count',
      standing: standing({ uid: 'dep_0' }),
      kind: 'new',
    },
    { name: 'another cause is new', standing: standing({ cause: 'other', details: 'other' }, 61_000), kind: 'new' },
    {
      name: 'another cause waits when there was an event a moment ago',
      standing: standing({ cause: 'other', details: 'other' }, 20_000),
      kind: 'later',
    },
    {
      name: 'a cause whose event could not be stored is new when a detail changes',
      standing: { ...unannounced, details: 'other' },
      kind: 'new',
    },
    { name: 'a standing cause says nothing', standing: standing({}, 3_600_000), kind: 'nothing' },
    { name: 'a changed detail counts up', standing: standing({ details: 'other' }, 61_000), kind: 'again' },
    { name: 'a changed number counts up', standing: standing({ details: fewer.details }, 61_000), kind: 'again' },
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

  it('keeps the record true before it is time for another event', () => {
    const changed = judged(placed(3, refused('a', refusal('quota', 'at most 1 containers', '1 containers'))));
    const record = amended(standing(), changed)!;
    expect(record).to.deep.include({
      unplaced: 3,
      summary: '0 of 1 nodes: 1 quota',
      filters: ['quota', 'ready', 'resources'],
      cause: verdict.cause,
      event: 'evt_1',
    });
    expect(amended(record, changed)).to.equal(undefined);
    expect(decideSaying(changed, record, NOW + 61_000).kind).to.equal('new');
  });
});
