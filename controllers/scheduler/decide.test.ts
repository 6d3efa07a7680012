import { expect } from 'chai';

import {
  toFilterRejection,
  type RejectedNode,
  type SchedulingReport,
  ungroupRejections,
} from '../../crds/scheduling/index.js';
import type { PlacementResult, Workload } from '../../pkg/placement/index.js';
import { mergeReport, decideReport, toVerdict } from './decide.js';

const NOW = Date.UTC(2030, 0, 1);

const refused = (node: string, ...reasons: RejectedNode['reasons']): RejectedNode => ({ node, reasons });
const asking = { residency: undefined } as unknown as Workload;
const german = {
  residency: { asked: { country: 'DE' }, regions: { enforced: true, declared: [] } },
} as unknown as Workload;

const placed = (unplaced: number, ...nodes: RejectedNode[]): PlacementResult => ({
  nodes: [],
  unplaced,
  refused: nodes,
});
const judged = (found: PlacementResult, what = asking) => toVerdict('dep_1', found, what)!;

const verdict = judged(
  placed(
    2,
    refused('b', toFilterRejection('ready', 'ready', 'failed')),
    refused('a', toFilterRejection('resources', '500m', '100m free')),
  ),
);

const standing = (change: Partial<SchedulingReport> = {}, agoMs = 0): SchedulingReport => {
  const { groups: _, ...rest } = verdict;
  return { ...rest, event: 'evt_1', lastSeenAt: new Date(NOW - agoMs).toISOString(), ...change };
};

describe('scheduler decides what to say', () => {
  it('says nothing when every replica has found a node', () => {
    expect(toVerdict('dep_1', placed(0), asking)).to.equal(undefined);
  });

  it('keeps every candidate, by name, with a summary', () => {
    expect(ungroupRejections(verdict.groups).map(({ node }) => node)).to.deep.equal(['a', 'b']);
    expect(verdict.summary).to.equal('0 of 2 nodes: 1 ready, 1 resources');
    expect(verdict.filters).to.deep.equal(['ready', 'resources']);
  });

  it('knows when it is residency that leaves nothing', () => {
    const elsewhere = placed(1, refused('a', toFilterRejection('residency', 'country DE', 'country FR')));
    expect(judged(elsewhere, german).residencyUnmet).to.equal(true);
    expect(
      judged(placed(1, refused('a', toFilterRejection('port', '80/tcp', '80/tcp taken'))), german).residencyUnmet,
    ).to.equal(false);
    expect(judged(placed(1), asking).residencyUnmet).to.equal(false);
  });

  it('has one cause whatever the order of the nodes and however much they have free', () => {
    const later = judged(
      placed(
        2,
        refused('a', toFilterRejection('resources', '500m', '90m free')),
        refused('b', toFilterRejection('ready', 'ready', 'failed')),
      ),
    );
    expect(later.cause).to.equal(verdict.cause);
    expect(later.details).to.not.equal(verdict.details);
  });

  it('has another cause for another node, filter or requirement', () => {
    const causes = [
      placed(2, refused('b', toFilterRejection('ready', 'ready', 'failed'))),
      placed(
        2,
        refused('b', toFilterRejection('ready', 'ready', 'failed')),
        refused('a', toFilterRejection('port', '500m', '100m free')),
      ),
      placed(
        2,
        refused('b', toFilterRejection('ready', 'ready', 'failed')),
        refused('a', toFilterRejection('resources', '501m', '100m free')),
      ),
    ].map(found => judged(found).cause);
    expect(new Set([verdict.cause, ...causes]).size).to.equal(4);
  });

  const fewer = judged({ ...placed(1), refused: ungroupRejections(verdict.groups) });
  const { event: _, ...unannounced } = standing({}, 61_000);

  const cases: readonly { name: string; standing: SchedulingReport | undefined; kind: string }[] = [
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
      expect(decideReport(verdict, given.standing, NOW).kind).to.equal(given.kind);
    });
  }

  it('keeps the record true before it is time for another event', () => {
    const changed = judged(placed(3, refused('a', toFilterRejection('quota', 'at most 1 containers', '1 containers'))));
    const record = mergeReport(standing(), changed)!;
    expect(record).to.deep.include({
      unplaced: 3,
      summary: '0 of 1 nodes: 1 quota',
      filters: ['quota', 'ready', 'resources'],
      cause: verdict.cause,
      event: 'evt_1',
    });
    expect(mergeReport(record, changed)).to.equal(undefined);
    expect(decideReport(changed, record, NOW + 61_000).kind).to.equal('new');
  });
});
