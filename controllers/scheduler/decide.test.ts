import { expect } from 'chai';

import {
  toFilterRejection,
  type RejectedNode,
  type SchedulingReport,
  ungroupRejections,
} from '../../crds/scheduling/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import { computeTemplateHash, toContainerTemplate } from '../../crds/replica/index.js';
import type { Candidate, PlacementResult, Workload } from '../../pkg/placement/index.js';
import type { ObservedDeployment, ObservedReplica } from '../reading/index.js';
import { decideReport, decideSchedule, listUnplaced, mergeReport, type ScheduleInput, toVerdict } from './decide.js';

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
    expect(verdict.summary).to.equal('0 of 2 nodes: 1 not ready, 1 resources');
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
    const changed = judged(placed(3, refused('a', toFilterRejection('quota', 'at most 1 container', '1 container'))));
    const record = mergeReport(standing(), changed)!;
    expect(record).to.deep.include({
      unplaced: 3,
      summary: '0 of 1 node: 1 quota',
      filters: ['quota', 'ready', 'resources'],
      cause: verdict.cause,
      event: 'evt_1',
    });
    expect(mergeReport(record, changed)).to.equal(undefined);
    expect(decideReport(changed, record, NOW + 61_000).kind).to.equal('new');
  });
});

describe('scheduler decision', () => {
  const seen = (slot: number, change: Partial<ObservedReplica['replica']> = {}) =>
    ({ replica: { uid: `r${slot}`, slot, deploymentUid: 'dep_1', ...change }, revision: 1 }) as ObservedReplica;
  const node = (id: string) => ({ id, name: id }) as Candidate;
  const group = (placement: PlacementResult, waiting = [seen(0), seen(1)]) => ({
    waiting,
    placement,
    workload: asking,
  });
  const input = (change: Partial<ScheduleInput> = {}): ScheduleInput => ({
    uid: 'dep_1',
    groups: [group({ ...placed(1, refused('c', toFilterRejection('ready', 'ready', 'failed'))), nodes: [node('a')] })],
    report: undefined,
    mayExplain: true,
    now: NOW,
    ...change,
  });

  it('gives the nodes to the replicas in order and reports the rest', () => {
    const decision = decideSchedule(input());
    expect(decision.assignments).to.deep.equal([{ seen: seen(0), node: node('a') }]);
    expect(decision.report.kind).to.equal('new');
    expect(decision.verdict).to.include({ unplaced: 1, summary: '0 of 1 node: 1 not ready' });
  });

  it('clears the report when every replica has a node', () => {
    const decision = decideSchedule(input({ groups: [group({ ...placed(0), nodes: [node('a'), node('b')] })] }));
    expect(decision).to.deep.include({ verdict: undefined, report: { kind: 'clear' } });
    expect(decision.assignments).to.have.length(2);
  });

  it('places without asking the nodes for reasons while explaining is throttled', () => {
    const placement: PlacementResult = {
      nodes: [node('a')],
      unplaced: 1,
      get refused(): never {
        throw new Error('the nodes were asked');
      },
    };
    const decision = decideSchedule(input({ groups: [group(placement)], mayExplain: false }));
    expect(decision.assignments).to.have.length(1);
    expect(decision.report).to.deep.equal({ kind: 'nothing' });
  });

  it('gives each group its own nodes, and reports what is left of all with the reasons of each', () => {
    const first = placed(
      1,
      refused('a', toFilterRejection('ready', 'ready', 'failed'), toFilterRejection('network', 'net', 'none')),
    );
    const second = placed(
      1,
      refused('a', toFilterRejection('ready', 'ready', 'failed'), toFilterRejection('port', '80/tcp', '80/tcp taken')),
    );
    const groups = [
      group({ ...first, nodes: [node('x')] }, [seen(0), seen(1)]),
      group({ ...second, nodes: [node('y')] }, [seen(2), seen(3)]),
    ];
    const { assignments, verdict: left } = decideSchedule(input({ groups }));
    expect(assignments.map(each => [each.seen.replica.slot, each.node.id])).to.deep.equal([
      [0, 'x'],
      [2, 'y'],
    ]);
    expect(left).to.deep.include({ unplaced: 2, filters: ['network', 'port', 'ready'] });
    expect(ungroupRejections(left!.groups)[0]?.reasons).to.have.length(3);
  });

  const deployment = {
    metadata: { uid: 'dep_1' },
    kind: 'Deployment',
    name: 'web',
    image: 'web:1',
    replicas: 2,
    secretsVersion: 0,
  } as StoredDeployment;
  const template = toContainerTemplate(deployment);
  const own = { deploymentUid: 'dep_1', templateHash: computeTemplateHash(deployment), template };
  const older = { ...own, templateHash: 'old', template: { ...template, image: 'web:0' } };
  const paused = {
    ...deployment,
    rollout: { maxSurge: 1, maxUnavailable: 0, progressDeadline: '10m', autoRollback: true, paused: true },
  };
  const deleted = { ...deployment, metadata: { ...deployment.metadata, deletedAt: 'now' } };
  const cases: readonly [string, StoredDeployment | undefined, Partial<ObservedReplica['replica']>, number][] = [
    ['a replica of the present template without a node', deployment, own, 1],
    ['no replica with a node', deployment, { ...own, nodeId: 'n' }, 0],
    ['no replica that retires', deployment, { ...own, retiringSince: 'now' }, 0],
    ['no replica of an older template', deployment, older, 0],
    ['a replica of an older template while the rollout is paused', paused, older, 1],
    ['a replica that was made for a named node, once none is named', deployment, { ...own, templateHash: 'named' }, 1],
    ['no replica of an earlier deployment of the name', deployment, { ...own, deploymentUid: 'dep_0' }, 0],
    ['no replica of a deployment that is being deleted', deleted, own, 0],
    ['no replica without a deployment', undefined, own, 0],
  ];
  for (const [name, present, replica, count] of cases) {
    it(`places ${name}`, () => {
      const reading = { deployment: present, replicas: [seen(0, replica)] } as unknown as ObservedDeployment;
      expect(listUnplaced(reading)).to.have.length(count);
    });
  }
});
