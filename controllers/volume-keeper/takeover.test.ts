import { expect } from 'chai';

import type { VolumeStatus } from '../../crds/volume/index.js';
import { draftEvents } from './events.js';
import {
  at,
  decide,
  type Given,
  host,
  lose,
  others,
  primary,
  replicated,
  reportReplica,
  makeStatus,
  tell,
} from './promotion.testing.js';

describe('takeover by a copy that was chosen', () => {
  /** As it was before the copy on b had taken over: then c did, in epoch 6. */
  const restored = makeStatus('Promoting', {
    primaryNode: 'node_b',
    epoch: 5,
    servedEpoch: 4,
    copies: ['c', 'd'].map(name => ({ nodeId: `node_${name}`, state: 'syncing' })),
  });
  const old = reportReplica('d', 190, { epoch: 5, syncedEpoch: 4 });
  const cases: readonly (readonly [name: string, given: Given, found: string])[] = [
    [
      'is over when its agent says so',
      {
        status: makeStatus('Promoting', { primaryNode: 'node_c', epoch: 2 }),
        reports: [primary('c', 2)],
        hosts: [lose('a'), ...others],
      },
      'Ready node_c 2',
    ],
    [
      'is not over by what it said before',
      {
        status: makeStatus('Promoting', { primaryNode: 'node_c', epoch: 2 }),
        reports: [reportReplica('c', 195)],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_c 2',
    ],
    [
      'goes on while its agent cannot yet, or sends no heartbeats for a moment',
      {
        status: makeStatus('Promoting', { primaryNode: 'node_c', epoch: 2, copies: [] }),
        reports: [primary('c', 2, { state: 'failed', message: 'busy' })],
        hosts: [lose('a'), host('c', { status: 'failed' })],
      },
      'Promoting node_c 2',
    ],
    [
      'goes to another copy of what was last served when that node is lost too',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
        }),
        reports: [reportReplica('c', 195), reportReplica('b', 190)],
        hosts: [lose('a'), host('b'), lose('c')],
      },
      'Promoting node_b 3 after 10 s',
    ],
    [
      'goes to another copy when that node sends heartbeats and reports nothing of it for long',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
          since: at(-60),
        }),
        reports: [reportReplica('c', 195), reportReplica('b', 190)],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_b 3 after 0 s',
    ],
    [
      'waits for a node that sends heartbeats, and for one that is silent for a moment',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
          since: at(10),
        }),
        reports: [reportReplica('c', 195), reportReplica('b', 190)],
        hosts: [lose('a'), host('b'), host('c', { status: 'unknown' })],
      },
      'Promoting node_c 2',
    ],
    [
      'does not go on to another copy when the first one has just taken over',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
          since: at(-600),
        }),
        reports: [primary('c', 2), reportReplica('b', 190)],
        hosts: [lose('a'), ...others],
      },
      'Ready node_c 2',
    ],
    [
      'goes back to a former primary that is back with all its bytes when the copy cannot take over',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_b',
          epoch: 2,
          copies: [{ nodeId: 'node_a', state: 'syncing' }],
        }),
        reports: [reportReplica('b', 195, { state: 'failed', epoch: 2 }), reportReplica('a', 200, { epoch: 2 })],
        hosts: [host('a'), host('b')],
      },
      'Promoting node_a 3 after 0 s',
    ],
    [
      'never in an epoch that an agent has seen',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
        }),
        reports: [primary('c', 7, { state: 'failed' }), reportReplica('b', 190)],
        hosts: [lose('a'), host('b'), lose('c', 'fence')],
      },
      'Promoting node_b 8 after 10 s',
    ],
    [
      'goes to none while a node that sends heartbeats has seen a later epoch: an old backup was restored',
      {
        status: restored,
        reports: [primary('c', 6, { state: 'failed' }), old],
        hosts: [lose('b'), host('c'), host('d')],
      },
      'Promoting node_b 5',
    ],
    [
      'goes to none while such a node merely sends no heartbeats',
      {
        status: restored,
        reports: [primary('c', 6, { state: 'failed' }), old],
        hosts: [lose('b'), lose('c'), host('d')],
      },
      'Promoting node_b 5',
    ],
    [
      'goes on when such a node was deleted',
      { status: restored, reports: [primary('c', 6, { state: 'failed' }), old], hosts: [lose('b'), host('d')] },
      'Promoting node_d 7 after 10 s',
    ],
    [
      'is not over while a node has seen a later epoch than the one that has taken over',
      { status: restored, reports: [primary('b', 5), primary('c', 6, { state: 'failed' })], hosts: others },
      'Promoting node_b 5',
    ],
    [
      'which has failed stays so while a node has seen a later epoch',
      {
        status: { ...restored, phase: 'Failed' },
        reports: [primary('c', 6, { state: 'failed' }), old],
        hosts: [host('c'), host('d')],
      },
      'Failed node_b 5',
    ],
    [
      'goes to another copy when the agent of the first one cannot take over',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_b',
          epoch: 2,
          copies: [
            { nodeId: 'node_c', state: 'syncing' },
            { nodeId: 'node_a', state: 'lost' },
          ],
        }),
        reports: [reportReplica('b', 195, { state: 'failed' }), reportReplica('c', 190)],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_c 3 after 10 s',
    ],
    [
      'does not at once: a disk may only be mounted late',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_b',
          epoch: 2,
          copies: [{ nodeId: 'node_c', state: 'syncing' }],
          since: at(271),
        }),
        reports: [reportReplica('b', 195, { state: 'failed' }), reportReplica('c', 190)],
        hosts: [lose('a'), ...others],
      },
      'Promoting node_b 2',
    ],
    [
      'comes to one that was tried before only after all others',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_b',
          epoch: 3,
          copies: ['c', 'd'].map(name => ({ nodeId: `node_${name}`, state: 'syncing' })),
          refusedBy: ['node_c'],
        }),
        reports: [reportReplica('b', 195, { state: 'failed' }), reportReplica('c', 190), reportReplica('d', 100)],
        hosts: [lose('a'), ...others, host('d')],
      },
      'Promoting node_d 4 after 100 s',
    ],
    [
      'waits for a copy on a silent node when the node that was chosen is gone',
      {
        status: makeStatus('Promoting', {
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
      'waits for a copy on a reporting node that is not complete: it may have what was set aside',
      {
        status: makeStatus('Promoting', {
          primaryNode: 'node_c',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
        }),
        reports: [reportReplica('b', 0, { syncedAt: undefined as never })],
        hosts: [host('b')],
      },
      'Promoting node_c 2',
    ],
    [
      'which has failed goes on when a machine that has a complete copy is enrolled again',
      {
        status: makeStatus('Failed', {
          primaryNode: 'node_z',
          epoch: 2,
          copies: [{ nodeId: 'node_b', state: 'syncing' }],
        }),
        reports: [reportReplica('b', 190)],
        hosts: [host('b')],
      },
      'Promoting node_b 3 after 10 s',
    ],
    [
      'has failed when nothing is left that could take over',
      { status: makeStatus('Promoting', { primaryNode: 'node_c', epoch: 2, copies: [] }), hosts: [lose('a')] },
      'Failed node_c 2',
    ],
    [
      'which has failed stays so',
      { status: makeStatus('Failed', { primaryNode: 'node_c', epoch: 2 }), reports: [primary('c', 2)], hosts: others },
      'Failed node_c 2',
    ],
  ];
  for (const [name, given, found] of cases) {
    it(`${name}: ${found}`, () => expect(tell(given)).to.equal(found));
  }

  it('says which nodes are ahead, keeps the primary from being used, and forgets it when they are gone', () => {
    const reports = [primary('b', 5), primary('c', 6, { state: 'failed' })];
    const { status: held } = decide({ status: restored, reports, hosts: others });
    expect(held.reason).to.equal('volume_epoch_behind');
    expect(held.message).to.match(/^c has seen an epoch that .*: restore a newer one; deleting the nodes/);
    const failed: VolumeStatus = { ...held, phase: 'Failed' };
    expect(decide({ status: failed, hosts: [] }).status).to.include({ phase: 'Failed', reason: 'volume_node_gone' });
  });
});

describe('promotion where nobody knows the primary', () => {
  const { primaryNode: _, servedEpoch: __, ...rest } = makeStatus('Degraded', { since: at(-60) });
  const unknown: VolumeStatus = { ...rest, copies: rest.copies };
  const rows: readonly (readonly [string, Partial<Given>, string])[] = [
    [
      'is of the freshest',
      { reports: [reportReplica('b', 190), reportReplica('c', 195)], hosts: others },
      'Promoting node_c 2',
    ],
    [
      'waits',
      { status: { ...unknown, since: at(10) }, reports: [reportReplica('b', 190)], hosts: others },
      'Degraded  1',
    ],
    [
      'waits for one whose node sends no heartbeats',
      { reports: [reportReplica('b', 190), reportReplica('c', 195)], hosts: [host('b'), lose('c')] },
      'Degraded  1',
    ],
    [
      'waits for those that do not say that they are copies',
      {
        reports: [
          reportReplica('b', 190),
          ...['c', 'd'].map(name => ({ id: 'vol_1', nodeId: `node_${name}`, state: 'failed', at: at(0) }) as const),
        ],
        hosts: [...others, host('d')],
      },
      'Degraded  1',
    ],
    [
      'is not of one that may have missed an epoch',
      {
        reports: [reportReplica('b', 190), reportReplica('c', 195, { epoch: 2 })],
        hosts: others,
        status: { ...unknown, epoch: 2 },
      },
      'Degraded  2',
    ],
  ];
  for (const [name, given, found] of rows) {
    it(`${name}: ${found}`, () => {
      const { status: next, promotion } = decide({ status: unknown, ...given });
      expect(`${next.phase} ${next.primaryNode ?? ''} ${next.epoch}`).to.equal(found);
      if (promotion)
        expect(draftEvents(replicated, unknown, { status: next, promotion })[1]!.data).to.include({ from: null });
    });
  }
});
