import { expect } from 'chai';

import type { StoredVolume, VolumePhase, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { decideVolume } from './decide.js';
import { draftEvents } from './events.js';
import type { VolumeHost, VolumeInput } from './input.js';

const at = (second: number) => new Date(Date.parse('2026-01-31T12:00:00.000Z') + 1000 * second).toISOString();
const NOW = at(300);
const volume: StoredVolume = {
  metadata: { tenant: 't', uid: 'vol_1', generation: 1, createdAt: at(0), updatedAt: at(0), specHash: '' },
  id: 'vol_1',
  name: 'data',
  class: 'replicated',
  type: 'volume',
  sizeBytes: 100,
  accessMode: 'ReadWriteOnce',
  replicas: 2,
};
const status = (phase: VolumePhase, change: Partial<VolumeStatus> = {}): VolumeStatus => ({
  id: 'vol_1',
  phase,
  reason: 'volume_ready',
  message: '',
  primaryNode: 'node_a',
  epoch: 1,
  servedEpoch: 1,
  copies: [
    { nodeId: 'node_b', state: 'synced' },
    { nodeId: 'node_c', state: 'synced' },
  ],
  since: at(200),
  ...change,
});
const still = [{ key: 'node-status/t/a', at: 7 }];
const lose = (name: string, by: 'heartbeat_missed' | 'fence' = 'heartbeat_missed', since = at(200)): VolumeHost => ({
  id: `node_${name}`,
  name,
  status: 'failed',
  lost: { by, since, still },
});
const host = (name: string, change: Partial<VolumeHost> = {}): VolumeHost => ({
  id: `node_${name}`,
  name,
  status: 'ready',
  ...change,
});
const replica = (name: string, second: number, change: Partial<VolumeReport> = {}): VolumeReport => ({
  id: 'vol_1',
  state: 'ready',
  nodeId: `node_${name}`,
  role: 'replica',
  epoch: 1,
  syncedEpoch: 1,
  syncedAt: at(second),
  at: at(second),
  ...change,
});
const primary = (name: string, epoch: number, change: Partial<VolumeReport> = {}): VolumeReport => ({
  id: 'vol_1',
  state: 'ready',
  nodeId: `node_${name}`,
  role: 'primary',
  epoch,
  at: at(0),
  ...change,
});

interface Given {
  readonly status: VolumeStatus;
  readonly volume?: Partial<StoredVolume>;
  readonly reports?: readonly VolumeReport[];
  readonly hosts?: readonly VolumeHost[];
}
const decide = ({ status: stored, volume: change, reports = [], hosts = [] }: Given) => {
  const input: VolumeInput = {
    volume: { ...volume, ...change },
    status: stored,
    reports,
    findHost: id => hosts.find(each => each.id === id),
    chooseNode: () => ({ because: 'none' }),
    chooseReplicas: () => ({ nodes: [] }),
    now: NOW,
  };
  const decided = decideVolume(input);
  if ('remove' in decided) throw new Error(decided.remove);
  return decided;
};

describe('promotion of a copy', () => {
  const fences = primary('a', 1, { fencesAfterSeconds: 30 });
  const synced = [fences, replica('b', 190), replica('c', 195)];
  const others = [host('b'), host('c')];
  const cases: readonly (readonly [name: string, given: Given, found: string])[] = [
    [
      'of the one that shows the latest moment',
      { status: status('Degraded'), reports: synced, hosts: [lose('a'), ...others] },
      'Promoting node_c 2 after 105 s',
    ],
    [
      'not before the volume is degraded',
      { status: status('Ready'), reports: synced, hosts: [lose('a'), ...others] },
      'Degraded node_a 1',
    ],
    [
      'not while its node may come back',
      { status: status('Degraded'), reports: synced, hosts: [host('a', { status: 'failed' }), ...others] },
      'Degraded node_a 1',
    ],
    [
      'not before its agent has certainly stopped what writes',
      { status: status('Degraded'), reports: synced, hosts: [lose('a', 'heartbeat_missed', at(250)), ...others] },
      'Degraded node_a 1',
    ],
    [
      'not while its agent has not said that it stops what writes',
      { status: status('Degraded'), reports: synced.slice(1), hosts: [lose('a'), ...others] },
      'Degraded node_a 1',
    ],
    [
      'at once when an administrator says that it is off',
      { status: status('Degraded'), reports: synced, hosts: [lose('a', 'fence', at(299)), ...others] },
      'Promoting node_c 2 after 105 s',
    ],
    [
      'with all that a node may have written that was only cut off for hours before it was switched off',
      { status: status('Degraded'), reports: synced, hosts: [lose('a', 'fence', at(-7000)), ...others] },
      'Promoting node_c 2 after 105 s',
    ],
    [
      'when its node is no longer enrolled',
      { status: status('Degraded'), reports: synced, hosts: others },
      'Promoting node_c 2 after 105 s',
    ],
    [
      'never of one that is not complete',
      {
        status: status('Degraded'),
        reports: [fences, replica('b', 0, { syncedAt: undefined as never }), replica('c', 195, { state: 'failed' })],
        hosts: [lose('a'), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'never of one that was complete in an earlier epoch only',
      {
        status: status('Degraded', { epoch: 2, servedEpoch: 2 }),
        reports: [{ ...fences, epoch: 2 }, replica('b', 190, { epoch: 2 }), replica('c', 10, { syncedEpoch: 2 })],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_c 3 after 290 s',
    ],
    [
      'never outside the residency or on a node that is not heard',
      {
        status: status('Degraded'),
        reports: synced,
        hosts: [lose('a'), host('b', { status: 'failed' }), host('c', { isOutside: true })],
      },
      'Degraded node_a 1',
    ],
    [
      'never of a node that has no copy of it',
      { status: status('Degraded', { copies: [] }), reports: synced, hosts: [lose('a'), ...others] },
      'Degraded node_a 1',
    ],
    [
      'never of another class',
      {
        status: status('Degraded'),
        volume: { class: 'ephemeral' },
        reports: synced,
        hosts: [lose('a'), ...others],
      },
      'Degraded node_a',
    ],
    [
      'is over when its agent says so',
      {
        status: status('Promoting', { primaryNode: 'node_c', epoch: 2 }),
        reports: [primary('c', 2)],
        hosts: [lose('a'), ...others],
      },
      'Ready node_c 2',
    ],
    [
      'is not over by what it said before',
      {
        status: status('Promoting', { primaryNode: 'node_c', epoch: 2 }),
        reports: [replica('c', 195)],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_c 2',
    ],
    [
      'goes on while its agent cannot yet, or is not heard for a moment',
      {
        status: status('Promoting', { primaryNode: 'node_c', epoch: 2, copies: [] }),
        reports: [primary('c', 2, { state: 'failed', message: 'busy' })],
        hosts: [lose('a'), host('c', { status: 'failed' })],
      },
      'Promoting node_c 2',
    ],
    [
      'goes to another copy of what was last served when that node is lost too',
      {
        status: status('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
        }),
        reports: [primary('c', 1, { fencesAfterSeconds: 30 }), replica('b', 190)],
        hosts: [lose('a'), host('b'), lose('c')],
      },
      'Promoting node_b 3 after 110 s',
    ],
    [
      'never while an agent has seen a later epoch than the control plane knows of',
      {
        status: status('Degraded'),
        reports: [fences, replica('b', 190), replica('c', 195, { state: 'failed', epoch: 2 })],
        hosts: [lose('a'), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'never in an epoch that an agent has seen',
      {
        status: status('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
        }),
        reports: [primary('c', 7, { state: 'failed' }), replica('b', 190)],
        hosts: [lose('a'), host('b'), lose('c', 'fence')],
      },
      'Promoting node_b 8 after 110 s',
    ],
    [
      'goes to another copy when the agent of the first one cannot take over',
      {
        status: status('Promoting', {
          primaryNode: 'node_b',
          epoch: 2,
          copies: [
            { nodeId: 'node_c', state: 'syncing' },
            { nodeId: 'node_a', state: 'lost' },
          ],
        }),
        reports: [replica('b', 195, { state: 'failed' }), replica('c', 190)],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_c 3 after 110 s',
    ],
    [
      'does not at once: a disk may only be mounted late',
      {
        status: status('Promoting', {
          primaryNode: 'node_b',
          epoch: 2,
          copies: [{ nodeId: 'node_c', state: 'syncing' }],
          since: at(271),
        }),
        reports: [replica('b', 195, { state: 'failed' }), replica('c', 190)],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_b 2',
    ],
    [
      'comes to one that was tried before only after all others',
      {
        status: status('Promoting', {
          primaryNode: 'node_b',
          epoch: 3,
          copies: ['c', 'd'].map(name => ({ nodeId: `node_${name}`, state: 'syncing' })),
          refusedBy: ['node_c'],
        }),
        reports: [replica('b', 195, { state: 'failed' }), replica('c', 190), replica('d', 100)],
        hosts: [lose('a'), ...others, host('d')],
      },
      'Promoting node_d 4 after 200 s',
    ],
    [
      'of a primary whose agent is well and has lost the bytes',
      {
        status: status('Degraded'),
        reports: [primary('a', 1, { state: 'failed', isMissing: true }), replica('b', 190)],
        hosts: [host('a'), ...others],
      },
      'Promoting node_b 2 after 110 s',
    ],
    [
      'not of one that cannot provide them for another reason',
      {
        status: status('Degraded'),
        reports: [primary('a', 1, { state: 'failed' }), replica('b', 190)],
        hosts: [host('a'), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'not of one whose disk may only be mounted late',
      {
        status: status('Degraded', { since: at(271) }),
        reports: [primary('a', 1, { state: 'failed', isMissing: true }), replica('b', 190)],
        hosts: [host('a'), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'not of one that is not heard: it may have found them',
      {
        status: status('Degraded'),
        reports: [primary('a', 1, { state: 'failed', isMissing: true }), replica('b', 190)],
        hosts: [host('a', { status: 'failed' }), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'waits for a copy that is not heard when the node that was chosen is gone',
      {
        status: status('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_a', state: 'lost' }],
        }),
        reports: [primary('a', 1)],
        hosts: [lose('a')],
      },
      'Promoting node_c 2',
    ],
    [
      'has failed when nothing is left that could take over',
      { status: status('Promoting', { primaryNode: 'node_c', epoch: 2, copies: [] }), hosts: [lose('a')] },
      'Failed node_c 2',
    ],
    [
      'which has failed stays so',
      { status: status('Failed', { primaryNode: 'node_c', epoch: 2 }), reports: [primary('c', 2)], hosts: others },
      'Failed node_c 2',
    ],
  ];
  for (const [name, given, found] of cases) {
    it(`${name}: ${found}`, () => {
      const { status: next, promotion } = decide(given);
      const told = [next.phase, next.primaryNode, next.epoch, promotion && `after ${promotion.secondsLost} s`];
      expect(told.filter(each => each !== undefined).join(' ')).to.equal(found);
    });
  }

  it('makes a copy of the former primary, and none is complete in the new epoch yet', () => {
    const { status: next, promotion } = decide({
      status: status('Degraded'),
      reports: synced,
      hosts: [lose('a'), ...others],
    });
    expect(next.copies.map(({ nodeId, state }) => `${nodeId} ${state}`)).to.deep.equal([
      'node_b syncing',
      'node_a lost',
    ]);
    expect(next).to.include({ servedEpoch: 1 });
    expect(promotion).to.deep.include({ still, from: 'node_a', syncedAt: at(195) });
    const again = decide({ status: next, reports: synced, hosts: [lose('a'), ...others] });
    expect(again.promotion).to.equal(undefined);
    const ready = decide({
      status: next,
      reports: [replica('b', 190), primary('c', 2)],
      hosts: [lose('a'), ...others],
    });
    expect(ready.status).to.include({ phase: 'Ready', servedEpoch: 2 });
  });

  it('never advises to delete a volume that has copies', () => {
    const missing = primary('a', 1, {
      state: 'failed',
      isMissing: true,
      message: 'mount the disk, or delete the volume',
    });
    for (const given of [
      { status: status('Ready'), reports: [missing], hosts: [host('a'), ...others] },
      { status: status('Degraded'), hosts: others },
      { status: status('Promoting', { primaryNode: 'node_z', epoch: 2 }), hosts: [lose('b'), lose('c')] },
    ]) {
      expect(decide(given).status.message).not.to.match(/delete the volume/);
    }
  });

  it('does not claim that nothing is missing when the clock of the former primary is ahead', () => {
    const before = status('Degraded');
    const reports = [fences, replica('b', 400)];
    const decided = decide({ status: before, reports, hosts: [lose('a'), ...others] });
    const told = draftEvents(volume, before, decided).at(-1)!;
    expect(told.data).to.include({ to: 'node_b', secondsLost: null });
    expect(told.message).to.match(/its clock is ahead$/);
  });

  it('is told once, with what is missing, and so is what was set aside', () => {
    const before = status('Degraded');
    const decided = decide({ status: before, reports: synced, hosts: [lose('a'), ...others] });
    const events = draftEvents(volume, before, decided);
    expect(events.map(({ type, severity }) => `${type} ${severity ?? 'info'}`)).to.deep.equal([
      'volume.phase_changed info',
      'volume.promoted warning',
    ]);
    expect(events[1]!.data).to.include({ from: 'node_a', to: 'node_c', epoch: 2, secondsLost: 105 });

    const ready = status('Ready', {
      primaryNode: 'node_c',
      epoch: 2,
      copies: [{ nodeId: 'node_a', state: 'syncing' }],
    });
    const back = replica('a', 0, { divergent: [{ name: 'divergent-1', epoch: 1, at: at(250) }] });
    const returned = decide({ status: ready, reports: [primary('c', 2), back], hosts: [host('a'), host('c')] });
    const told = draftEvents(volume, ready, returned);
    expect(told.map(({ type, data }) => [type, data?.['nodeId'], data?.['name']])).to.deep.equal([
      ['volume.divergent', 'node_a', 'divergent-1'],
    ]);
    expect(draftEvents(volume, returned.status, returned)).to.deep.equal([]);
  });
});
