import { expect } from 'chai';

import type { SeenCopy, VolumeReplica, VolumeReport } from '../../crds/volume/index.js';
import { at, decide, type Given, host, makeStatus, primary, reportReplica } from './promotion.testing.js';

/** `decide` looks 300 s after the volume was made: ten minutes before. */
const LONG_AGO = at(-300);
const stuck = (change: Partial<VolumeReplica> = {}): VolumeReplica => ({
  nodeId: 'node_c',
  state: 'syncing',
  message: 'that node keeps volumes with another driver',
  failingSince: LONG_AGO,
  ...change,
});
const told = (change: Partial<SeenCopy> = {}): Partial<VolumeReport> => ({
  copies: [
    { nodeId: 'node_b', state: 'synced', syncedAt: at(290) },
    { nodeId: 'node_c', state: 'syncing', message: 'that node keeps volumes with another driver', ...change },
  ],
});
const b: VolumeReplica = { nodeId: 'node_b', state: 'synced', syncedAt: at(290) };
const list = (copy: VolumeReplica, given: Partial<Given>) => {
  const { status } = decide({
    status: makeStatus('Ready', { copies: [b, copy] }),
    volume: { replicaNodes: ['node_d'] },
    hosts: ['a', 'b', 'c', 'd'].map(name => host(name)),
    reports: [
      primary('a', 1, told()),
      reportReplica('b', 290),
      reportReplica('c', 0, { syncedAt: undefined as never }),
    ],
    ...given,
  });
  return status.copies.map(({ nodeId, failingSince = '' }) => `${nodeId} ${failingSince}`.trim());
};
const seen = (change: Partial<SeenCopy>, own: Partial<VolumeReport> = {}) => ({
  reports: [primary('a', 1, told(change)), reportReplica('b', 290), reportReplica('c', 299, own)],
});

describe('a copy that is not complete and does not get further', () => {
  const rows: readonly (readonly [string, VolumeReplica, Partial<Given>, readonly string[]])[] = [
    [
      'is remembered from when it says why',
      { nodeId: 'node_c', state: 'syncing' },
      {},
      ['node_b', `node_c ${at(300)}`],
    ],
    [
      'keeps its place for less than ten minutes',
      stuck({ failingSince: at(-299) }),
      {},
      ['node_b', `node_c ${at(-299)}`],
    ],
    ['is replaced after ten minutes', stuck(), {}, ['node_b', `node_c ${LONG_AGO}`, 'node_d']],
    [
      'is replaced as well when its own agent says something else each time',
      stuck(),
      seen({}, { state: 'failed', message: 'no room: 17 MiB are missing' }),
      ['node_b', `node_c ${LONG_AGO}`, 'node_d'],
    ],
    [
      'is waited for while something is sent to it',
      stuck(),
      seen({ sentBytes: 7, totalBytes: 9 }),
      ['node_b', `node_c ${LONG_AGO}`],
    ],
    [
      'is well again when nothing stands in its way',
      stuck(),
      seen({ message: undefined as never }),
      ['node_b', 'node_c'],
    ],
    [
      'is not to blame while the primary does not serve',
      stuck(),
      { hosts: [host('a', { status: 'failed' }), ...['b', 'c', 'd'].map(name => host(name))] },
      ['node_b', 'node_c'],
    ],
  ];
  for (const [name, copy, given, found] of rows) {
    it(name, () => expect(list(copy, given)).to.deep.equal(found));
  }

  it('goes when the one that was made beside it is complete', () => {
    const d: VolumeReplica = { nodeId: 'node_d', state: 'synced', syncedAt: at(290) };
    const { copies = [] } = told();
    const { status } = decide({
      status: makeStatus('Ready', { copies: [b, stuck(), d] }),
      hosts: ['a', 'b', 'c', 'd'].map(name => host(name)),
      reports: [
        primary('a', 1, { copies: [...copies, { nodeId: 'node_d', state: 'synced', syncedAt: at(290) }] }),
        ...['b', 'd'].map(name => reportReplica(name, 290)),
        reportReplica('c', 0, { syncedAt: undefined as never }),
      ],
    });
    expect(status.copies.map(({ nodeId }) => nodeId)).to.deep.equal(['node_b', 'node_d']);
    expect(status.leaving).to.deep.equal(['node_c']);
  });
});
