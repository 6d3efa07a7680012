import { expect } from 'chai';
import fc from 'fast-check';

import {
  type StoredVolume,
  stepTowards,
  type VolumePhase,
  volumePhases,
  type VolumeReport,
  type VolumeStatus,
} from '../../crds/volume/index.js';
import type { NodeChoice, VolumeCandidate } from './choose-node.js';
import { decideVolume } from './decide.js';
import { draftEvents } from './events.js';
import type { VolumeHost } from './input.js';
import { seenThroughout } from './promotion.testing.js';
import { makeVolume } from '../../crds/volume/volume.testing.js';

const AT = '2026-01-31T12:00:00.000Z';
const NOW = '2026-01-31T12:05:00.000Z';
const volume = makeVolume(
  { tenant: 't', uid: 'vol_1', generation: 1, createdAt: AT, updatedAt: AT, specHash: '' },
  { class: 'ephemeral', sizeBytes: 100 },
);
const changed: StoredVolume = { ...volume, metadata: { ...volume.metadata, generation: 2 } };
const deleted: StoredVolume = { ...volume, metadata: { ...volume.metadata, deletedAt: AT } };
const replicated: StoredVolume = { ...volume, class: 'replicated', replicas: 1 };
const status = (phase: VolumePhase, primaryNode: string | undefined = 'node_a'): VolumeStatus => ({
  id: 'vol_1',
  phase,
  reason: 'volume_ready',
  message: '',
  ...(primaryNode !== '' && { primaryNode }),
  copies: [],
  since: AT,
});
const report = (state: VolumeReport['state'], nodeId = 'node_a'): VolumeReport => ({
  id: 'vol_1',
  state,
  nodeId,
  at: AT,
  ...(state === 'failed' && { message: 'no space is left' }),
});
const sized = (capacityBytes: number, targetBytes: number, message?: string): VolumeReport => ({
  ...report('ready'),
  capacityBytes,
  targetBytes,
  ...(message !== undefined && { message }),
});
const a: VolumeHost = { id: 'node_a', name: 'a', status: 'ready' };

const decide = (
  given: {
    volume?: StoredVolume;
    status?: VolumeStatus;
    report?: VolumeReport;
    reports?: readonly VolumeReport[];
    choice?: NodeChoice;
  },
  hosts: readonly VolumeHost[] = [a],
) => {
  const known = {
    volume: given.volume ?? volume,
    status: given.status,
    reports: given.reports ?? (given.report ? [given.report] : []),
  };
  return decideVolume({
    ...known,
    ...seenThroughout(NOW, known),
    findHost: id => hosts.find(host => host.id === id),
    chooseNode: refusedBy =>
      given.choice && 'node' in given.choice && !refusedBy.has(given.choice.node.id)
        ? given.choice
        : { because: '0 of 1 node can hold it: 1 not ready' },
    chooseReplicas: () => ({ nodes: [] }),
    explainBound: () => undefined,
    listMountedWith: () => [],
    listJobs: () => [],
    now: NOW,
  });
};

describe('the volume keeper', () => {
  const silent: VolumeHost = { ...a, status: 'failed' };
  const choice = { node: { id: 'node_b', name: 'b' } as VolumeCandidate };
  type Given = Parameters<typeof decide>[0] & { hosts?: readonly VolumeHost[] };
  const cases: readonly (readonly [name: string, given: Given, decided: string])[] = [
    ['a new one without a node', {}, 'Pending volume_waiting'],
    ['a new one with a node', { choice }, 'Materializing volume_materializing node_b'],
    ['of class object', { volume: { ...volume, class: 'object' }, choice }, 'Pending volume_class_not_wired'],
    [
      'one whose agent is silent about it',
      { status: status('Materializing') },
      'Materializing volume_materializing node_a',
    ],
    ['one that was made', { status: status('Materializing'), report: report('ready') }, 'Ready volume_ready node_a'],
    [
      'one that was made elsewhere',
      { status: status('Materializing'), report: report('ready', 'node_b') },
      'Materializing volume_materializing node_a',
    ],
    [
      'one that cannot be made',
      { status: status('Materializing'), report: report('failed') },
      'Materializing volume_refused node_a',
    ],
    [
      'one that cannot be made where another node can',
      { status: status('Materializing'), report: report('failed'), choice },
      'Materializing volume_materializing node_b',
    ],
    [
      'one that was made and breaks stays',
      { status: status('Degraded'), report: report('failed'), choice },
      'Degraded volume_refused node_a',
    ],
    [
      'one whose node leaves before it is made',
      { status: status('Materializing'), hosts: [], choice },
      'Materializing volume_materializing node_b',
    ],
    ['the same without another node', { status: status('Materializing'), hosts: [] }, 'Materializing volume_waiting'],
    ['one that breaks', { status: status('Ready'), report: report('failed') }, 'Degraded volume_refused node_a'],
    ['one that is repaired', { status: status('Degraded'), report: report('ready') }, 'Ready volume_ready node_a'],
    [
      'one whose node is silent',
      { status: status('Ready'), report: report('ready'), hosts: [silent] },
      'Degraded volume_node_silent node_a',
    ],
    [
      'one whose node drains',
      { status: status('Ready'), report: report('ready'), hosts: [{ ...a, status: 'draining' }] },
      'Ready volume_ready node_a',
    ],
    [
      'one whose node is gone',
      { status: status('Ready'), report: report('ready'), hosts: [], choice },
      'Degraded volume_node_gone node_a',
    ],
    ['one that is to be larger', { status: status('Ready'), report: sized(50, 50) }, 'Resizing volume_resizing node_a'],
    [
      'one that was changed, of an agent that tells no size',
      { volume: changed, status: status('Ready'), report: report('ready') },
      'Ready volume_ready node_a',
    ],
    [
      'one that cannot be larger yet',
      { status: status('Resizing'), report: sized(50, 100, 'no space is left') },
      'Ready volume_refused node_a',
    ],
    [
      'one that is to be larger, and is asked for yet another size after a refusal',
      { status: { ...status('Ready'), reason: 'volume_refused' }, report: sized(50, 70, 'no space is left') },
      'Resizing volume_resizing node_a',
    ],
    [
      'one that is shrunk in steps',
      { status: status('Resizing'), report: sized(150, 150) },
      'Resizing volume_resizing node_a',
    ],
    ['one that has its size', { status: status('Resizing'), report: sized(100, 100) }, 'Ready volume_ready node_a'],
    [
      'one that got more than asked',
      { status: status('Resizing'), report: sized(128, 100) },
      'Ready volume_ready node_a',
    ],
    [
      'one that is made, and was changed before',
      { volume: changed, status: status('Materializing'), report: sized(50, 50) },
      'Ready volume_resizing node_a',
    ],
    [
      'one whose node is silent while it is resized',
      { status: status('Resizing'), report: sized(50, 50), hosts: [silent] },
      'Ready volume_node_silent node_a',
    ],
    ['one whose status was lost', { report: report('ready'), choice }, 'Ready volume_ready node_a'],
    [
      'one whose status and node were lost',
      { report: report('ready'), hosts: [], choice },
      'Degraded volume_node_gone node_a',
    ],
    [
      'a replicated one whose status was lost, and of which only a copy is known',
      {
        volume: replicated,
        report: { ...report('ready', 'node_c'), role: 'replica', epoch: 1, syncedEpoch: 1 },
        choice,
      },
      'Degraded volume_primary_unknown',
    ],
    [
      'the same while the copy cannot be provided',
      { volume: replicated, report: { ...report('failed', 'node_c'), role: 'replica', epoch: 1 }, choice },
      'Degraded volume_primary_unknown',
    ],
    [
      'one of which a node has seen a later epoch',
      {
        volume: replicated,
        status: { ...status('Ready'), epoch: 1, copies: [{ nodeId: 'node_b', state: 'synced' }] },
        reports: [
          { ...report('ready'), role: 'primary', epoch: 1 },
          { ...report('failed', 'node_b'), role: 'primary', epoch: 2 },
        ],
        hosts: [a, { ...a, id: 'node_b', name: 'b' }],
      },
      'Degraded volume_epoch_behind node_a',
    ],
    [
      'the same that was never made as far as is known',
      {
        volume: replicated,
        status: { ...status('Materializing'), epoch: 1 },
        report: { ...report('failed'), role: 'replica', epoch: 2 },
        choice,
      },
      'Materializing volume_epoch_behind node_a',
    ],
    [
      'one to delete',
      { volume: deleted, status: status('Ready'), report: report('ready') },
      'Deleting volume_deleting node_a',
    ],
    [
      'one to delete that cannot be',
      { volume: deleted, status: status('Deleting'), report: report('failed') },
      'Deleting volume_refused node_a',
    ],
    [
      'one to delete on a silent node',
      { volume: deleted, status: status('Ready'), hosts: [silent] },
      'Deleting volume_node_silent node_a',
    ],
    [
      'one to delete whose disk is not mounted',
      { volume: deleted, status: status('Deleting'), report: { ...report('failed'), isMissing: true } },
      'Deleting volume_disk_away node_a',
    ],
    [
      'one that is deleted',
      { volume: deleted, status: status('Deleting'), report: report('removed') },
      'gone: its bytes were removed from a',
    ],
    [
      'a folder of the machine that is deleted',
      { volume: { ...deleted, type: 'bind' }, status: status('Deleting'), report: report('removed') },
      'gone: its folder on a was left as it is',
    ],
    [
      'one that another node has deleted',
      { volume: deleted, status: status('Deleting'), report: report('removed', 'node_b') },
      'Deleting volume_deleting node_a',
    ],
    ['one to delete that had no node', { volume: deleted }, 'gone: it had no bytes yet'],
    [
      'one to delete whose node is gone',
      { volume: deleted, status: status('Deleting'), hosts: [] },
      'gone: its bytes are left on node_a, which is no longer enrolled',
    ],
  ];
  for (const [name, { hosts, ...given }, wanted] of cases) {
    it(`${name}: ${wanted}`, () => {
      const decision = decide(given, hosts);
      const told =
        'remove' in decision
          ? `gone: ${decision.remove}`
          : [decision.status.phase, decision.status.reason, decision.status.primaryNode].filter(Boolean).join(' ');
      expect(told).to.equal(wanted);
    });
  }

  it('says of one silent node, and of several, what a deletion waits for', () => {
    const before: VolumeStatus = { ...status('Deleting'), copies: [{ nodeId: 'node_b', state: 'synced' }] };
    const find = (hosts: readonly VolumeHost[]) => {
      const decision = decide({ volume: { ...deleted, class: 'replicated' }, status: before }, hosts);
      return 'remove' in decision ? decision.remove : decision.status.message;
    };
    const other: VolumeHost = { ...silent, id: 'node_b', name: 'b' };
    expect(find([silent])).to.match(/^its bytes are on a, which sends no heartbeats: .* when the node is back; delete/);
    expect(find([silent, other])).to.match(/^its bytes are on a, b, which send no heartbeats: .* the nodes are back;/);
    expect(find([])).to.equal('its bytes are left on node_a, node_b, which are no longer enrolled');
  });

  it('writes nothing while nothing changes, and keeps the time of the phase', () => {
    const first = decide({ status: status('Ready'), report: { ...report('ready'), usedBytes: 5, driver: 'btrfs' } });
    if ('remove' in first) throw new Error(first.remove);
    expect(first.status).to.include({ since: AT, usedBytes: 5, measuredAt: AT, driver: 'btrfs' });
    const again = decide({ status: first.status, report: { ...report('ready'), usedBytes: 5, driver: 'btrfs' } });
    expect('status' in again && again.status).to.equal(first.status);
    const broken = decide({ status: first.status, report: report('failed') });
    expect('status' in broken && broken.status.since).to.equal(NOW);
  });

  it('tries each node once for a volume that cannot be made, and orders none to remove what it has', () => {
    const b: VolumeHost = { ...a, id: 'node_b', name: 'b' };
    const moved = decide({ status: status('Materializing'), report: report('failed'), choice }, [a, b]);
    if ('remove' in moved) throw new Error(moved.remove);
    expect(moved.status).to.deep.include({ primaryNode: 'node_b', refusedBy: ['node_a'] });
    expect(moved.status).not.to.have.property('leaving');
    const stays = decide({ status: moved.status, report: report('failed', 'node_b'), choice }, [a, b]);
    expect('status' in stays && stays.status).to.deep.include({ primaryNode: 'node_b', refusedBy: ['node_a'] });
    const made = decide({ status: moved.status, report: report('ready', 'node_b'), choice }, [a, b]);
    expect('status' in made && made.status)
      .to.include({ phase: 'Ready' })
      .and.not.have.property('refusedBy');
  });

  const known: readonly (readonly [string, Partial<VolumeReport>])[] = [
    ['are not found', { isMissing: true }],
    ['have an epoch', { epoch: 1, role: 'primary' }],
  ];
  for (const [name, said] of known) {
    it(`puts no empty volume elsewhere where its node knows of bytes that ${name}: an old backup was restored`, () => {
      const b: VolumeHost = { ...a, id: 'node_b', name: 'b' };
      const told = { ...report('failed'), ...said };
      const decision = decide({ volume: replicated, status: status('Materializing'), report: told, choice }, [a, b]);
      expect('status' in decision && decision.status).to.include({
        phase: 'Materializing',
        reason: 'volume_refused',
        primaryNode: 'node_a',
      });
    });
  }

  const move = (before: VolumeStatus, said: VolumeReport, hosts?: readonly VolumeHost[]) => {
    const decision = decide({ status: before, report: said }, hosts);
    if ('remove' in decision) throw new Error(decision.remove);
    return { ...decision, told: draftEvents(volume, before, decision) };
  };
  const types = ({ told }: ReturnType<typeof move>) => told.map(({ type }) => type);

  it('measures how long a change of the size took, in steps or at once, and none that waited for room', () => {
    const large = { ...status('Ready'), capacityBytes: 400 };
    const begun = move(large, sized(300, 300));
    expect(begun.status).to.include({ phase: 'Resizing', resizeFrom: 400, since: NOW });
    const further = move(begun.status, sized(200, 200));
    expect(further.status).to.include({ phase: 'Resizing', resizeFrom: 400, capacityBytes: 200 });
    const ended = move({ ...further.status, since: AT }, sized(100, 100));
    expect(ended.status).to.deep.include({
      capacityBytes: 100,
      lastResize: { bytes: 300, isShrink: true, seconds: 300 },
      since: NOW,
    });
    expect(ended.status).not.to.have.property('resizeFrom');
    expect(types(ended)).to.deep.equal(['volume.phase_changed', 'volume.resized']);
    expect(move(ended.status, sized(100, 100)).status).to.equal(ended.status);

    const refused = move({ ...status('Resizing'), capacityBytes: 40 }, sized(40, 100, 'no space is left'));
    expect(types(refused)).to.deep.equal(['volume.phase_changed']);
    const late = move(refused.status, sized(100, 100));
    expect(late.status).to.deep.include({ phase: 'Ready', lastResize: { bytes: 60 } });
    expect(types(late), 'also of an agent that was faster than the keeper').to.deep.equal(['volume.resized']);
  });

  it('says Ready of none that is on its way to Degraded', () => {
    const passing = move({ ...status('Resizing'), capacityBytes: 40 }, sized(40, 40), [silent]);
    expect([passing.status.phase, types(passing)]).to.deep.equal(['Ready', []]);
    const silently = move(passing.status, sized(40, 40), [silent]);
    expect([silently.status.phase, types(silently)]).to.deep.equal(['Degraded', ['volume.phase_changed']]);
  });

  it('tells of copies that are added and lost, once each', () => {
    const about = (...copies: VolumeStatus['copies']) => ({ ...status('Ready'), copies });
    const told = (before: VolumeStatus, after: VolumeStatus) =>
      draftEvents(volume, before, { status: after }).map(({ type, data }) => `${type} ${String(data?.['nodeId'])}`);
    const [b, c] = [
      { nodeId: 'node_b', state: 'syncing' },
      { nodeId: 'node_c', state: 'synced' },
    ] as const;
    const lost = { ...c, state: 'lost' } as const;
    expect(told(about(c), about(b, c))).to.deep.equal(['volume.replica_added node_b']);
    expect(told(about(b, c), about({ ...b, state: 'synced' }, c))).to.deep.equal([]);
    expect(told(about(c), about(lost))).to.deep.equal(['volume.replica_lost node_c']);
    expect(told(about(lost), about(lost))).to.deep.equal([]);
    expect(told(about(c), about()), 'its node was deleted').to.deep.equal(['volume.replica_lost node_c']);
    expect(told(about(c), { ...about(), leaving: ['node_c'] }), 'it was asked to go').to.deep.equal([]);
    const promoted = { ...about({ nodeId: 'node_a', state: 'lost' }), primaryNode: 'node_c' };
    expect(told(about(c), promoted), 'they have changed places').to.deep.equal([]);
  });

  it('property: whatever is stored and said, it makes one move of the table, and settles', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...volumePhases, undefined),
        fc.constantFrom('ready', 'failed', 'removed', undefined),
        fc.constantFrom('node_a', 'node_b', ''),
        fc.constantFrom(volume, deleted),
        fc.constantFrom<readonly VolumeHost[]>([a], [silent], []),
        fc.constantFrom(
          {},
          { capacityBytes: 50, targetBytes: 50 },
          { capacityBytes: 50, targetBytes: 100, message: '' },
        ),
        (phase, state, reporter, given, hosts, size) => {
          let current = phase && status(phase);
          const said = state && { ...report(state, reporter || 'node_a'), ...size };
          for (let round = 0; round < 6; round++) {
            const next = decide(
              { volume: given, choice, ...(current && { status: current }), ...(said && { report: said }) },
              hosts,
            );
            if ('remove' in next) return;
            const from = current?.phase ?? (said?.state === 'ready' ? 'Degraded' : 'Pending');
            expect(stepTowards(from, next.status.phase)).to.equal(next.status.phase);
            if (next.status === current) return;
            current = next.status;
          }
          throw new Error('it does not settle');
        },
      ),
    );
  });
});
