import { expect } from 'chai';

import type { SeenCopy, VolumeMove, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import type { MountedVolume } from '../../pkg/fleet/index.js';
import { draftEvents } from './events.js';
import {
  at,
  decide,
  type Given,
  host,
  lose,
  makeStatus,
  primary,
  replicated,
  reportReplica,
} from './promotion.testing.js';

const order = { nodeId: 'node_b', generation: 2, at: at(290) };
const last = (epoch: number, snapshot = 's-1-9') => ({ final: { epoch, snapshot, at: at(298) } });
const copies = (...names: readonly string[]) =>
  names.map(name => ({ nodeId: `node_${name}`, state: 'synced' as const, syncedAt: at(280) }));
const serving = (change: Partial<VolumeReport> = {}) => primary('a', 1, { copies: copies('b', 'c'), ...change });
/** Something is sent to the copy on b. */
const sending = (change: Partial<SeenCopy>) => serving({ copies: [{ ...copies('b')[0]!, ...change }, ...copies('c')] });
const served: readonly VolumeReport[] = [serving(), reportReplica('b', 280), reportReplica('c', 290)];
const all = [host('a'), host('b'), host('c')];
const moving = (change: Partial<VolumeMove> = {}): Pick<VolumeStatus, 'move'> => ({
  move: { phase: 'Copying', message: '', from: 'node_a', to: 'node_b', generation: 2, since: at(290), ...change },
});
/** Nothing may use it: the last snapshot is awaited. */
const down = (change: Partial<VolumeMove> = {}, more: Partial<VolumeStatus> = {}) =>
  makeStatus('Degraded', {
    ...moving({ phase: 'Stopping', epoch: 2, stoppedAt: at(295), ...change }),
    finalFor: 2,
    ...more,
  });
const switched = (change: Partial<VolumeStatus> = {}) =>
  makeStatus('Promoting', {
    ...moving({ phase: 'Switching', epoch: 2, stoppedAt: at(295) }),
    primaryNode: 'node_b',
    epoch: 2,
    copies: copies('a', 'c'),
    ...change,
  });

/** What comes next in a few words: phase, primary, epoch, the step of the move, what is ordered, and how a move ended. */
function say(given: Given): string {
  const { phase, primaryNode, epoch, move, finalFor, lastMove } = decide(given).status;
  const ended = lastMove && `${lastMove.isAborted ? 'aborted' : 'moved'}: ${lastMove.message}`;
  const told = [move?.phase, finalFor !== undefined && `for ${finalFor}`, ended].filter(Boolean);
  return `${phase} ${primaryNode?.slice(5)} ${epoch}: ${told.join(', ') || 'stays'}`;
}

describe('a planned move of a volume', () => {
  const ready = makeStatus('Ready');
  const asked = { move: order };
  const late = moving({ since: at(-90_000), message: 'jobs run first: nightly' });
  const draining = [host('a', { status: 'draining' }), host('b'), host('c')];
  const both = [serving(last(2)), reportReplica('b', 298, last(2)), reportReplica('c', 290)];
  const cases: readonly (readonly [name: string, given: Given, found: string])[] = [
    ['is not begun by itself', { status: ready, reports: served, hosts: all }, 'Ready a 1: stays'],
    [
      'stops what mounts it when the copy is complete',
      { status: ready, volume: asked, reports: served, hosts: all },
      'Degraded a 1: Stopping, for 2',
    ],
    [
      'never takes an epoch that a report names',
      { status: ready, volume: asked, reports: [serving(last(7)), ...served.slice(1)], hosts: all },
      'Degraded a 1: Stopping, for 8',
    ],
    [
      'never takes one that was ordered before',
      {
        status: makeStatus('Ready', { lastMove: { from: '', to: '', message: '', epoch: 4, at: at(0) } }),
        volume: asked,
        reports: served,
        hosts: all,
      },
      'Degraded a 1: Stopping, for 5, moved: ',
    ],
    [
      'waits for a copy that is not complete',
      {
        status: makeStatus('Ready', { copies: [{ nodeId: 'node_b', state: 'syncing' }] }),
        volume: asked,
        reports: served,
        hosts: all,
      },
      'Ready a 1: Copying',
    ],
    [
      'waits for jobs that run',
      { status: ready, volume: asked, reports: served, hosts: all, jobs: ['nightly'] },
      'Ready a 1: Waiting',
    ],
    [
      'waits while much is sent to the copy',
      { status: ready, volume: asked, reports: [sending({ lagBytes: 2 ** 30 }), ...served.slice(1)], hosts: all },
      'Ready a 1: Waiting',
    ],
    [
      'waits for the rest of a transfer whose lag is not known',
      {
        status: ready,
        volume: asked,
        reports: [sending({ sentBytes: 2 ** 20, totalBytes: 2 ** 30 }), ...served.slice(1)],
        hosts: all,
      },
      'Ready a 1: Waiting',
    ],
    [
      'does not wait for little, which is always under way of a busy volume',
      {
        status: ready,
        volume: asked,
        reports: [
          sending({ lagBytes: 2 ** 20, sentBytes: 2 ** 30, totalBytes: 2 ** 30 + 2 ** 20 }),
          ...served.slice(1),
        ],
        hosts: all,
      },
      'Degraded a 1: Stopping, for 2',
    ],
    [
      'waits while the size changes',
      { status: makeStatus('Resizing'), volume: asked, reports: served, hosts: all },
      'Ready a 1: Waiting',
    ],
    [
      'waits while the primary is silent',
      { status: ready, volume: asked, reports: served, hosts: [host('a', { status: 'failed' }), ...all.slice(1)] },
      'Degraded a 1: Waiting',
    ],
    [
      'waits while the copy is silent',
      { status: ready, volume: asked, reports: served, hosts: [host('a'), host('b', { status: 'failed' }), host('c')] },
      'Ready a 1: Waiting',
    ],
    [
      'is not begun with an order of long ago',
      { status: ready, volume: { move: { ...order, at: at(-90_000) } }, reports: served, hosts: all },
      'Ready a 1: stays',
    ],
    [
      'is not begun again',
      {
        status: makeStatus('Ready', { lastMove: { from: '', to: '', message: '', generation: 2, at: at(0) } }),
        volume: asked,
        reports: served,
        hosts: all,
      },
      'Ready a 1: moved: ',
    ],
    [
      'to where the primary is has ended',
      { status: ready, volume: { move: { ...order, nodeId: 'node_a' } }, reports: served, hosts: all },
      'Ready a 1: moved: its primary is there already',
    ],
    [
      'waits until nothing writes',
      { status: down(), volume: asked, reports: served, hosts: all },
      'Degraded a 1: Stopping, for 2',
    ],
    [
      'waits until the copy has the last snapshot',
      { status: down(), volume: asked, reports: [serving(last(2)), ...served.slice(1)], hosts: all },
      'Degraded a 1: Syncing, for 2',
    ],
    [
      'does not take another snapshot for the last one',
      {
        status: down(),
        volume: asked,
        reports: [serving(last(2)), reportReplica('b', 298, last(2, 's-1-8'))],
        hosts: all,
      },
      'Degraded a 1: Syncing, for 2',
    ],
    [
      'does not take the last one of an earlier order',
      { status: down({ epoch: 3 }, { finalFor: 3 }), volume: asked, reports: both, hosts: all },
      'Degraded a 1: Stopping, for 3',
    ],
    [
      'switches when both have it',
      { status: down(), volume: asked, reports: both, hosts: all },
      'Promoting b 2: Switching',
    ],
    [
      'switches too when the primary has died since: nothing is missing',
      { status: down(), volume: asked, reports: both, hosts: [lose('a'), ...all.slice(1)] },
      'Promoting b 2: Switching',
    ],
    [
      'has not ended while a node has seen a later epoch than the one that it moved in',
      {
        status: switched(),
        volume: asked,
        reports: [primary('b', 2), primary('c', 3, { state: 'failed' })],
        hosts: all,
      },
      'Promoting b 2: Switching',
    ],
    [
      'waits until the copy has taken over',
      { status: switched(), volume: asked, reports: both, hosts: all },
      'Promoting b 2: Switching',
    ],
    [
      'has ended when it has',
      { status: switched(), volume: asked, reports: [primary('b', 2)], hosts: all },
      'Ready b 2: moved: it is on b',
    ],
    [
      'is aborted when another copy has taken over in its place',
      { status: switched({ primaryNode: 'node_c', epoch: 3 }), volume: asked, reports: [], hosts: all },
      'Promoting c 3: aborted: the copy on node_b did not take over, and another one did',
    ],
    [
      'is aborted when a user cancels it',
      { status: down(), reports: served, hosts: all },
      'Ready a 1: aborted: it was cancelled, the drain was ended, or the volume is not ready any more',
    ],
    [
      'is aborted after its deadline',
      { status: down({ stoppedAt: at(0) }), volume: asked, reports: served, hosts: all },
      'Ready a 1: aborted: what mounts it was not stopped, or its last changes not sent, within five minutes',
    ],
    [
      'is aborted when it could not begin for a day, with what it waited for',
      { status: makeStatus('Ready', late), volume: asked, reports: served, hosts: all },
      'Ready a 1: aborted: it could not begin within a day (jobs run first: nightly)',
    ],
    [
      'is aborted when the node is lost before',
      {
        status: makeStatus('Ready', moving()),
        volume: asked,
        reports: served,
        hosts: [host('a'), lose('b'), host('c')],
      },
      'Ready a 1: aborted: b is lost',
    ],
    [
      'is aborted when the node falls silent while nothing may use it',
      {
        status: down(),
        volume: asked,
        reports: served,
        hosts: [host('a'), host('b', { status: 'failed' }), host('c')],
      },
      'Ready a 1: aborted: b is not ready',
    ],
    [
      'is aborted when the node is deleted',
      { status: down(), volume: asked, reports: served, hosts: [host('a'), host('c')] },
      'Ready a 1: aborted: node_b is no longer enrolled',
    ],
    [
      'is aborted when the node is drained',
      { status: down(), volume: asked, reports: served, hosts: [host('a'), host('b', { status: 'draining' })] },
      'Ready a 1: aborted: b is drained',
    ],
    [
      'is aborted when the node breaks the residency',
      { status: down(), volume: asked, reports: both, hosts: [host('a'), host('b', { isOutside: true })] },
      'Ready a 1: aborted: b is outside its residency',
    ],
    [
      'is aborted when the copy is given up',
      { status: down(), volume: { ...asked, excludedNodes: ['node_b'] }, reports: served, hosts: all },
      'Ready a 1: aborted: its copy on b is to be removed',
    ],
    [
      'is aborted when the copy fails',
      {
        status: down(),
        volume: asked,
        reports: [serving(), reportReplica('b', 280, { state: 'failed', message: 'no room' })],
        hosts: all,
      },
      'Ready a 1: aborted: b fails: no room',
    ],
    [
      'is aborted when what mounts it could not follow',
      { status: ready, volume: asked, reports: served, hosts: all, bound: 'web names a' },
      'Ready a 1: aborted: web names a',
    ],
    [
      'is aborted when the primary is lost before its last snapshot is there',
      { status: down(), volume: asked, reports: served, hosts: [lose('a'), ...all.slice(1)] },
      'Degraded a 1: aborted: a, which has its primary, is lost',
    ],
    [
      'is aborted when a copy is promoted in the middle, in an epoch that was never ordered',
      {
        status: down(),
        volume: asked,
        reports: [serving({ fencesAfterSeconds: 30 }), ...served.slice(1)],
        hosts: [lose('a'), ...all.slice(1)],
      },
      'Promoting c 3: aborted: another copy has taken over',
    ],
    [
      'ends with the deletion of the volume',
      {
        status: down(),
        volume: { ...asked, metadata: { ...replicated.metadata, deletedAt: at(299) } },
        reports: served,
        hosts: all,
      },
      'Deleting a 1: stays',
    ],
    [
      'begins when the node is drained, to the copy that shows the latest moment',
      {
        status: makeStatus('Ready', {
          copies: [
            { nodeId: 'node_b', state: 'synced', syncedAt: at(280) },
            { nodeId: 'node_c', state: 'synced', syncedAt: at(290) },
          ],
        }),
        reports: served,
        hosts: draining,
      },
      'Degraded a 1: Stopping, for 2',
    ],
    [
      'of a drain ends with the drain',
      { status: down({ generation: undefined as never }), reports: served, hosts: all },
      'Ready a 1: aborted: it was cancelled, the drain was ended, or the volume is not ready any more',
    ],
    [
      'of a drain goes on when the node falls silent after its last snapshot',
      {
        status: down({ generation: undefined as never }),
        reports: both,
        hosts: [host('a', { status: 'failed' }), ...all.slice(1)],
      },
      'Promoting b 2: Switching',
    ],
    [
      'is aborted when a third copy has seen a later epoch, although both ends have the last snapshot',
      {
        status: down(),
        volume: asked,
        reports: [...both.slice(0, 2), reportReplica('c', 290, { epoch: 9 })],
        hosts: all,
      },
      'Degraded a 1: aborted: a node has seen a later epoch than the control plane knows of',
    ],
    [
      'of a drain is not tried again at once',
      {
        status: makeStatus('Ready', {
          lastMove: { from: '', to: 'node_b', isAborted: true, message: 'b', at: at(290) },
        }),
        reports: served,
        hosts: draining,
      },
      'Ready a 1: aborted: b',
    ],
    [
      'of a drain is tried again later the longer it was stopped in vain',
      {
        status: makeStatus('Ready', {
          lastMove: { from: '', to: 'node_b', isAborted: true, message: 'b', downtimeSeconds: 60, at: at(40) },
        }),
        reports: served,
        hosts: draining,
      },
      'Ready a 1: aborted: b',
    ],
    [
      'of a drain is tried again when it was stopped for a moment only',
      {
        status: makeStatus('Ready', {
          lastMove: { from: '', to: 'node_b', isAborted: true, message: 'b', downtimeSeconds: 5, at: at(30) },
        }),
        reports: served,
        hosts: draining,
      },
      'Degraded a 1: Stopping, for 2, aborted: b',
    ],
    [
      'is blocked while no copy is complete',
      {
        status: makeStatus('Ready', { copies: [] }),
        volume: { replicas: 0 },
        reports: [serving({ copies: [] })],
        hosts: draining,
      },
      'Ready a 1: Blocked',
    ],
    [
      'is blocked of a class without copies',
      { status: makeStatus('Ready', { copies: [] }), volume: { class: 'ephemeral' }, reports: served, hosts: draining },
      'Ready a undefined: Blocked',
    ],
  ];
  for (const [name, given, found] of cases) it(name, () => expect(say(given)).to.equal(found));

  it('makes a copy first where there is none, beside those that are wanted', () => {
    const volume = { move: { ...order, nodeId: 'node_d' } };
    const hosts = [...all, host('d')];
    const { status } = decide({ status: ready, volume, reports: served, hosts });
    expect(status.move).to.include({ phase: 'Copying', isCopyMade: true });
    const nodes = ({ copies: those, leaving }: VolumeStatus) => [those.map(({ nodeId }) => nodeId), leaving];
    expect(nodes(status)).to.deep.equal([['node_b', 'node_c', 'node_d'], undefined]);
    const next = decide({ status, volume, reports: served, hosts }).status;
    expect(nodes(next)).to.deep.equal([['node_b', 'node_c', 'node_d'], undefined]);

    const divergent = [{ name: 'set-aside', at: at(200), bytes: 1 }] as never;
    const reports = [served[0]!, reportReplica('b', 280, { divergent }), served[2]!];
    const more = decide({ status: ready, volume: { ...volume, replicas: 1 }, reports, hosts }).status;
    expect(nodes(more), 'also where one more has to stay').to.deep.equal([['node_b', 'node_c', 'node_d'], undefined]);
  });

  describe('of a node that is drained', () => {
    const other = (change: Partial<MountedVolume> = {}): MountedVolume => ({
      name: 'index',
      class: 'replicated',
      primaryNode: 'node_a',
      copiedTo: [],
      ...change,
    });
    const both = [...copies('b'), { nodeId: 'node_c', state: 'synced', syncedAt: at(290) } as const];
    const status = makeStatus('Ready', { copies: both });
    const reports = [serving({ copies: both }), ...served.slice(1)];
    const rows: readonly (readonly [name: string, mountedWith: readonly MountedVolume[], to: string])[] = [
      ['goes to the freshest copy', [], 'node_c'],
      ['goes where the other, mounted with it, can go too', [other({ copiedTo: ['node_b'] })], 'node_b'],
      ['goes where the other goes', [other({ copiedTo: ['node_b', 'node_c'], movesTo: 'node_b' })], 'node_b'],
      ['goes where the other is already', [other({ copiedTo: ['node_c'], primaryNode: 'node_b' })], 'node_b'],
      ['goes nowhere where one of them would be alone', [other({ copiedTo: ['node_b'] }), other()], 'Blocked'],
      ['stays with one that cannot move', [other({ class: 'ephemeral' })], 'Blocked'],
      [
        'goes nowhere where two of them would never meet',
        [other({ copiedTo: ['node_b'] }), other({ copiedTo: ['node_c'] })],
        'Blocked',
      ],
    ];
    for (const [name, mountedWith, to] of rows) {
      it(`${name}: ${to}`, () => {
        const { move } = decide({ status, reports, hosts: draining, mountedWith }).status;
        expect(move?.to ?? move?.phase).to.equal(to);
      });
    }

    it('says with what it stays, and what to do', () => {
      const say = (mountedWith: readonly MountedVolume[]) =>
        decide({ status, reports, hosts: draining, mountedWith }).status.move?.message;
      expect(say([other()])).to.equal(
        'what mounts it mounts index too, which cannot follow to b: ask for a copy of it there ("moor volumes replicas add index b"), or move both by order ("moor volumes move")',
      );
      expect(say([other({ class: 'ephemeral' })])).to.equal(
        'what mounts it mounts index too, which cannot follow to b: volumes of class ephemeral stay on their node; mount them apart, or delete index',
      );
    });
  });

  it('of a drain avoids the node that it failed with, and one that takes no work', () => {
    const lastMove = { from: 'node_a', to: 'node_c', isAborted: true, message: '', at: at(200) } as const;
    const status = makeStatus('Ready', { lastMove });
    expect(decide({ status, reports: served, hosts: draining }).status.move?.to).to.equal('node_b');
    const hosts = [draining[0]!, host('b', { status: 'unready' }), host('c')];
    expect(decide({ status, reports: served, hosts }).status.move?.to).to.equal('node_c');
  });

  it('tells when it begins, how it ended and for how long nothing could use it', () => {
    const events = (before: VolumeStatus, given: Partial<Given>) => {
      const decided = decide({ status: before, volume: asked, hosts: all, ...given });
      return draftEvents(replicated, before, decided).map(
        ({ type, severity = 'info', message }) => `${type} ${severity}: ${message}`,
      );
    };
    expect(events(ready, { reports: served })).to.deep.equal([
      'volume.phase_changed info: volume data is Degraded: it moves: what mounts it is stopped on a; if it lasts five minutes, the move is aborted: see "moor describe node a" and the log of its agent',
      'volume.move_started info: volume data is to move to node_b',
    ]);
    expect(events(down(), { reports: both })).to.deep.equal([
      'volume.phase_changed info: volume data is Promoting: the copy on b takes the place of the primary, and nothing is missing',
    ]);
    expect(events(switched(), { reports: [primary('b', 2)] })).to.include(
      'volume.moved info: volume data has moved: it is on b; nothing could use it for 5 s',
    );
    expect(events(down(), { reports: served, volume: {} })).to.include(
      'volume.move_aborted warning: volume data does not move to node_b: it was cancelled, the drain was ended, or the volume is not ready any more; nothing could use it for 5 s',
    );
    const [blocked] = events(makeStatus('Ready', { copies: [] }), {
      volume: { class: 'ephemeral' },
      hosts: draining,
      reports: served,
    });
    expect(blocked).to.match(
      /^volume.move_blocked warning: the node of volume data is drained, and the volume is not moved: volumes of class/,
    );
  });
});
