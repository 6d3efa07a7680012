import { expect } from 'chai';

import { draftEvents } from './events.js';
import {
  at,
  decide,
  fences,
  type Given,
  host,
  lose,
  others,
  primary,
  replicated,
  reportReplica,
  makeStatus,
  still,
  tell,
} from './promotion.testing.js';

describe('promotion of a copy', () => {
  const synced = [fences, reportReplica('b', 190), reportReplica('c', 195)];
  const cases: readonly (readonly [name: string, given: Given, found: string])[] = [
    [
      'of the one that shows the latest moment',
      { status: makeStatus('Degraded'), reports: synced, hosts: [lose('a'), ...others] },
      'Promoting node_c 2 after 5 s and 60 s without contact',
    ],
    [
      'not before the volume is degraded',
      { status: makeStatus('Ready'), reports: synced, hosts: [lose('a'), ...others] },
      'Degraded node_a 1',
    ],
    [
      'not while its node may come back',
      { status: makeStatus('Degraded'), reports: synced, hosts: [host('a', { status: 'failed' }), ...others] },
      'Degraded node_a 1',
    ],
    [
      'not before its agent has certainly stopped what writes',
      { status: makeStatus('Degraded'), reports: synced, hosts: [lose('a', 'heartbeat_missed', at(250)), ...others] },
      'Degraded node_a 1',
    ],
    [
      'not while its agent has not said that it stops what writes',
      { status: makeStatus('Degraded'), reports: synced.slice(1), hosts: [lose('a'), ...others] },
      'Degraded node_a 1',
    ],
    [
      'at once when an administrator says that it is off',
      { status: makeStatus('Degraded'), reports: synced, hosts: [lose('a', 'fence', at(299)), ...others] },
      'Promoting node_c 2 after 104 s and 1 s without contact',
    ],
    [
      'which says how long a node may have written that was only cut off before it was switched off, as its copies show',
      { status: makeStatus('Degraded'), reports: synced, hosts: [lose('a', 'fence', at(-7000)), ...others] },
      'Promoting node_c 2 after undefined s and 105 s without contact',
    ],
    [
      'when its node is no longer enrolled',
      { status: makeStatus('Degraded'), reports: synced, hosts: others },
      'Promoting node_c 2 after 105 s',
    ],
    [
      'never of one that is not complete',
      {
        status: makeStatus('Degraded'),
        reports: [
          fences,
          reportReplica('b', 0, { syncedAt: undefined as never }),
          reportReplica('c', 195, { state: 'failed' }),
        ],
        hosts: [lose('a'), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'never of one that was complete in an earlier epoch only',
      {
        status: makeStatus('Degraded', { epoch: 2, servedEpoch: 2 }),
        reports: [
          { ...fences, epoch: 2 },
          reportReplica('b', 190, { epoch: 2 }),
          reportReplica('c', 10, { syncedEpoch: 2 }),
        ],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_c 3 after 190 s and 60 s without contact',
    ],
    [
      'never outside the residency or on a node that sends no heartbeats',
      {
        status: makeStatus('Degraded'),
        reports: synced,
        hosts: [lose('a'), host('b', { status: 'failed' }), host('c', { isOutside: true })],
      },
      'Degraded node_a 1',
    ],
    [
      'of one on a node that takes no work only after all others',
      {
        status: makeStatus('Degraded'),
        reports: synced,
        hosts: [lose('a'), host('b'), host('c', { status: 'draining' })],
      },
      'Promoting node_b 2 after 10 s and 60 s without contact',
    ],
    [
      'never of a node that has no copy of it',
      { status: makeStatus('Degraded', { copies: [] }), reports: synced, hosts: [lose('a'), ...others] },
      'Degraded node_a 1',
    ],
    [
      'never of another class',
      {
        status: makeStatus('Degraded'),
        volume: { class: 'ephemeral' },
        reports: synced,
        hosts: [lose('a'), ...others],
      },
      'Degraded node_a',
    ],
    [
      'never while an agent has seen a later epoch than the control plane knows of',
      {
        status: makeStatus('Degraded'),
        reports: [fences, reportReplica('b', 190), reportReplica('c', 195, { state: 'failed', epoch: 2 })],
        hosts: [lose('a'), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'of a primary whose agent is well and has lost the bytes',
      {
        status: makeStatus('Degraded', { since: at(0) }),
        reports: [primary('a', 1, { state: 'failed', isMissing: true }), reportReplica('b', 190)],
        hosts: [host('a'), ...others],
      },
      'Promoting node_b 2 after 0 s',
    ],
    [
      'not of one that cannot provide them for another reason',
      {
        status: makeStatus('Degraded'),
        reports: [primary('a', 1, { state: 'failed' }), reportReplica('b', 190)],
        hosts: [host('a'), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'not of one that was away for long and has only begun to miss them: its disk may be mounted late',
      {
        status: makeStatus('Degraded', { since: at(-600) }),
        reports: [primary('a', 1, { state: 'failed', isMissing: true, at: at(10) }), reportReplica('b', 190)],
        hosts: [host('a'), ...others],
      },
      'Degraded node_a 1',
    ],
    [
      'not of one that sends no heartbeats: it may have found them',
      {
        status: makeStatus('Degraded'),
        reports: [primary('a', 1, { state: 'failed', isMissing: true }), reportReplica('b', 190)],
        hosts: [host('a', { status: 'failed' }), ...others],
      },
      'Degraded node_a 1',
    ],
  ];
  for (const [name, given, found] of cases) {
    it(`${name}: ${found}`, () => expect(tell(given)).to.equal(found));
  }

  it('makes a copy of the former primary, and none is complete in the new epoch yet', () => {
    const { status: next, promotion } = decide({
      status: makeStatus('Degraded'),
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
      reports: [reportReplica('b', 190), primary('c', 2)],
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
      { status: makeStatus('Ready'), reports: [missing], hosts: [host('a'), ...others] },
      { status: makeStatus('Degraded'), hosts: others },
      { status: makeStatus('Promoting', { primaryNode: 'node_z', epoch: 2 }), hosts: [lose('b'), lose('c')] },
      {
        status: makeStatus('Promoting', { primaryNode: 'node_z', epoch: 2 }),
        reports: [reportReplica('b', 0)],
        hosts: others,
      },
      { status: makeStatus('Promoting', { epoch: 2 }), reports: [missing], hosts: [host('a'), ...others] },
      { status: makeStatus('Ready', { epoch: 2 }), reports: [missing], hosts: [host('a'), ...others] },
    ]) {
      expect(decide(given).status.message).not.to.match(/delete the volume/);
    }
  });

  it('says which nodes to look at when no copy can be promoted', () => {
    const hosts = [host('b', { isOutside: true }), lose('c'), host('d')];
    const copies = ['b', 'c', 'd'].map(name => ({ nodeId: `node_${name}`, state: 'syncing' }) as const);
    const aside = [{ name: 'divergent-1', epoch: 1, at: at(0) }];
    const reports = [reportReplica('b', 190), reportReplica('d', 0, { syncedEpoch: 0, divergent: aside })];
    const { message } = decide({ status: makeStatus('Degraded', { copies }), reports, hosts }).status;
    expect(message).to.equal(
      'the node that had its bytes is no longer enrolled, and no other copy is complete and inside its residency: give b, which breaks its residency, the labels that it asks for, or bring back c, or look at what d has set aside (docs/OPERATIONS.md)',
    );
  });

  it('says what a primary that sends no heartbeats waits for', () => {
    const outside = [lose('a'), host('b', { isOutside: true }), host('c', { isOutside: true })];
    const find = (hosts: Given['hosts'], reports = synced) =>
      decide({ status: makeStatus('Degraded'), reports, hosts: hosts! }).status.message.replace(/^.*agent; /, '');
    const labels = 'give c, b, which break its residency, the labels that it asks for';
    expect(find(outside)).to.equal(`no other copy is complete and inside its residency: ${labels}`);
    const early = find([lose('a', 'heartbeat_missed', at(250)), ...others]);
    expect(early).to.equal('a copy takes over once its agent has certainly stopped what writes');
    expect(find([lose('a'), ...others], synced.slice(1))).to.contain('moor nodes fence a');
    for (const hosts of [[lose('a', 'fence'), ...others], others]) {
      const { message } = decide({ status: makeStatus('Ready'), reports: synced, hosts }).status;
      expect(message, 'before it is promoted').to.match(/ a copy that is complete takes over$/);
    }
  });

  it('says what to do about a copy that takes long to take over', () => {
    const status = makeStatus('Promoting', { primaryNode: 'node_c', epoch: 2 });
    const { message } = decide({ status, reports: [reportReplica('c', 195)], hosts: [lose('a'), ...others] }).status;
    expect(message).to.equal(
      'the agent of c has not taken over yet: wait; if it lasts, see "moor describe node c" and the log of its agent',
    );
  });

  it('does not claim that nothing is missing when the clock of the former primary is ahead', () => {
    const before = makeStatus('Degraded');
    const reports = [fences, reportReplica('b', 400)];
    const decided = decide({ status: before, reports, hosts: [lose('a'), ...others] });
    const told = draftEvents(replicated, before, decided).at(-1)!;
    expect(told.data).to.include({ to: 'node_b', secondsLost: null });
    expect(told.message).to.match(/its clock is ahead$/);
  });

  it('nor when it is ahead by less than has passed since the last heartbeat of its node', () => {
    const before = makeStatus('Degraded');
    const ahead = 60;
    const reports = [fences, reportReplica('b', 180 + ahead)];
    const decided = decide({ status: before, reports, hosts: [lose('a'), ...others] });
    const told = draftEvents(replicated, before, decided).at(-1)!;
    expect(told.data).to.include({ to: 'node_b', secondsLost: null });
    expect(told.message).to.match(/for how long is unknown: its clock is ahead, or its node was only cut off; if /);
  });

  it('is told once, with what is missing, and so is what was set aside', () => {
    const before = makeStatus('Degraded');
    const decided = decide({ status: before, reports: synced, hosts: [lose('a'), ...others] });
    const events = draftEvents(replicated, before, decided);
    expect(events.map(({ type, severity }) => `${type} ${severity ?? 'info'}`)).to.deep.equal([
      'volume.phase_changed info',
      'volume.promoted warning',
    ]);
    expect(events[1]!.data).to.include({ from: 'node_a', to: 'node_c', epoch: 2, secondsLost: 5, secondsUnheard: 60 });
    expect(events[1]!.message).to.match(/at most 5 s .* in the 60 s after, which is set aside when it is back$/);

    const ready = makeStatus('Ready', {
      primaryNode: 'node_c',
      epoch: 2,
      copies: [{ nodeId: 'node_a', state: 'syncing' }],
    });
    const back = reportReplica('a', 0, { divergent: [{ name: 'divergent-1', epoch: 1, at: at(250) }] });
    const returned = decide({ status: ready, reports: [primary('c', 2), back], hosts: [host('a'), host('c')] });
    const told = draftEvents(replicated, ready, returned);
    expect(told.map(({ type, data }) => [type, data?.['nodeId'], data?.['name']])).to.deep.equal([
      ['volume.divergent', 'node_a', 'divergent-1'],
    ]);
    expect(draftEvents(replicated, returned.status, returned)).to.deep.equal([]);
  });
});

describe('the failover of a replicated volume', () => {
  const ready = { status: makeStatus('Ready'), hosts: [host('a'), ...others] };
  const synced = { state: 'synced', syncedAt: at(290), lagBytes: 0 } as const;
  const copies = [
    { nodeId: 'node_b', ...synced },
    { nodeId: 'node_c', ...synced },
  ];
  const failover = (own: Parameters<typeof primary>[2]) =>
    decide({ ...ready, reports: [primary('a', 1, own), reportReplica('b', 290), reportReplica('c', 290)] }).status
      .failover;

  it('is automatic while the agent of the primary promises that what writes stops', () => {
    expect(failover({ copies, fencesAfterSeconds: 30 })).to.deep.equal({
      mode: 'automatic',
      writesStopAfterSeconds: 60,
    });
  });

  for (const unfenced of ['no_fencer', 'state_unwritable', 'agent_stopping'] as const) {
    it(`is manual and names ${unfenced} as the cause`, () => {
      expect(failover({ copies, unfenced })).to.deep.equal({ mode: 'manual', because: unfenced });
    });
  }

  it('is none while no copy is complete', () => {
    const syncing = copies.map(({ nodeId }) => ({ nodeId, state: 'syncing' as const }));
    const status = makeStatus('Ready', { copies: syncing });
    const decided = decide({
      ...ready,
      status,
      reports: [primary('a', 1, { copies: syncing, fencesAfterSeconds: 30 })],
    });
    expect(decided.status.failover).to.deep.equal({ mode: 'none', because: 'no_copy' });
  });

  it('is not said of a volume without copies', () => {
    const volume = { class: 'ephemeral' } as const;
    const { status } = decide({
      ...ready,
      volume,
      status: makeStatus('Ready', { copies: [] }),
      reports: [primary('a', 1)],
    });
    expect(status).to.not.have.property('failover');
  });
});
