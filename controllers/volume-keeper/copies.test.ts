import { expect } from 'chai';

import type { StoredVolume, VolumeReplica, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { decideCopies } from './copies.js';
import { decideVolume } from './decide.js';
import type { VolumeHost, VolumeInput } from './input.js';
import { host, seenThroughout } from './promotion.testing.js';
import { makeVolume } from '../../crds/volume/volume.testing.js';

const AT = '2026-01-31T12:00:00.000Z';
const volume = makeVolume(
  { tenant: 't', uid: 'vol_1', generation: 1, createdAt: AT, updatedAt: AT, specHash: '' },
  { sizeBytes: 100 },
);
const copy = (name: string, state: VolumeReplica['state'] = 'syncing'): VolumeReplica => ({
  nodeId: `node_${name}`,
  state,
});
const status = (copies: readonly VolumeReplica[], change: Partial<VolumeStatus> = {}): VolumeStatus => ({
  id: 'vol_1',
  phase: 'Ready',
  reason: 'volume_ready',
  message: '',
  primaryNode: 'node_a',
  epoch: 1,
  copies,
  since: AT,
  ...change,
});
const report = (name: string, change: Partial<VolumeReport> = {}): VolumeReport => ({
  id: 'vol_1',
  state: 'ready',
  nodeId: `node_${name}`,
  at: AT,
  ...change,
});

const complete = (name: string, epoch = 1) =>
  report(name, { epoch, role: 'replica', syncedAt: AT, syncedEpoch: epoch });

interface Given {
  readonly volume?: Partial<StoredVolume>;
  readonly status?: VolumeStatus;
  readonly reports?: readonly VolumeReport[];
  readonly hosts?: readonly VolumeHost[];
}
const toInput = (given: Given): VolumeInput => {
  const hosts = given.hosts ?? ['a', 'b', 'c', 'd'].map(name => host(name));
  const { copies = [], epoch = 1 } = given.status ?? {};
  const said = given.reports ?? [report('a', { epoch, role: 'primary' })];
  const isUntold = ({ nodeId, state }: VolumeReplica) =>
    state === 'synced' && !said.some(each => each.nodeId === nodeId);
  const known = {
    volume: { ...volume, ...given.volume },
    status: given.status,
    reports: [...said, ...copies.filter(isUntold).map(({ nodeId }) => complete(nodeId.slice(5), epoch))],
  };
  return {
    ...known,
    ...seenThroughout(AT, known),
    findHost: id => hosts.find(each => each.id === id),
    chooseNode: () => ({ because: 'none' }),
    chooseReplicas: ({ count, taken }) => {
      const able = hosts.filter(({ id, status: state }) => !taken.has(id) && state === 'ready');
      return { nodes: able.slice(0, count) as never, ...(able.length < count && { because: 'too few nodes' }) };
    },
    explainBound: () => undefined,
    listMountedWith: () => [],
    listJobs: () => [],
    now: AT,
  };
};

const UNSAFE =
  'it is to be removed, and stays until the primary and another copy have every byte and nothing is set aside beside it; force removes it before';

const MISSING =
  'its bytes are not there any more: mount the disk that holds them and restart the agent, or remove the copy with force';

describe('copies of a volume', () => {
  const failedSince = (minutes: number): Partial<VolumeReport> => ({
    state: 'failed',
    message: 'no space',
    at: new Date(Date.parse(AT) - 60_000 * minutes).toISOString(),
  });
  const silent = { status: 'failed' } as const;
  const lostSince = (since: string) =>
    ({ by: 'heartbeat_missed', since, silentMs: Date.parse(AT) - Date.parse(since), still: [] }) as const;
  const synced = { nodeId: 'node_b', state: 'synced', syncedAt: AT, lagBytes: 0 } as const;
  const primary = (change: Partial<VolumeReport> = {}) => report('a', { epoch: 1, role: 'primary', ...change });
  const cases: readonly (readonly [name: string, given: Given, found: string])[] = [
    ['are chosen once the volume is made', { status: status([]) }, 'b syncing'],
    ['are not chosen before', { status: status([], { phase: 'Materializing' }) }, ''],
    ['are as many as are wanted', { volume: { replicas: 3 }, status: status([]) }, 'b syncing, c syncing, d syncing'],
    ['wait for nodes', { volume: { replicas: 4 }, status: status([]) }, 'b syncing, c syncing, d syncing'],
    ['of other classes do not exist', { volume: { class: 'ephemeral' }, status: status([]) }, ''],
    ['stay where they are', { status: status([copy('d', 'synced')]) }, 'd synced'],
    [
      'are as far as the primary says',
      { status: status([copy('b')]), reports: [primary({ copies: [synced] }), complete('b')] },
      'b synced',
    ],
    [
      'that could not get their size say so',
      {
        status: status([copy('b')]),
        reports: [
          primary({ copies: [synced] }),
          report('b', { epoch: 1, role: 'replica', syncedAt: AT, message: 'no space is left' }),
        ],
      },
      'b synced (no space is left)',
    ],
    [
      'are not synced before their own node says what they show',
      {
        status: status([copy('b', 'synced')]),
        reports: [primary({ copies: [synced] }), report('b', { epoch: 1, role: 'replica' })],
      },
      'b syncing',
    ],
    [
      'are not synced where their node has said nothing yet, whatever the primary says of a former one',
      { status: status([]), reports: [primary({ copies: [synced] })] },
      'b syncing',
    ],
    [
      'let no other go where their node has said nothing yet',
      {
        volume: { excludedNodes: ['node_c'] },
        status: status([copy('b'), copy('c', 'synced')]),
        reports: [primary({ copies: [synced, { ...synced, nodeId: 'node_c' }] }), complete('c')],
      },
      `b syncing, c synced (${UNSAFE})`,
    ],
    [
      'let no other go before their own node says what they show',
      {
        volume: { excludedNodes: ['node_c'] },
        status: status([copy('b'), copy('c', 'synced')]),
        reports: [
          primary({ copies: [synced, { ...synced, nodeId: 'node_c' }] }),
          report('b', { epoch: 1, role: 'replica' }),
          complete('c'),
        ],
      },
      `b syncing, c synced (${UNSAFE})`,
    ],
    [
      'are not what it said of an earlier epoch',
      { status: status([copy('b')], { epoch: 2 }), reports: [primary({ copies: [synced] })] },
      'b syncing',
    ],
    [
      'are not what another node says',
      { status: status([copy('b')]), reports: [report('b', { epoch: 1, role: 'primary', copies: [synced] })] },
      'b syncing',
    ],
    [
      'on a node that sends no heartbeats are lost and stay',
      { status: status([copy('b', 'synced')]), hosts: [host('a'), host('b', silent), host('c')] },
      'b lost',
    ],
    [
      'on a node that is lost for long get another beside them',
      {
        status: status([copy('b', 'synced')]),
        hosts: [host('a'), host('b', { ...silent, lost: lostSince('2026-01-31T11:50:00.000Z') }), host('c')],
      },
      'b lost, c syncing',
    ],
    [
      'on a node that was lost just now do not',
      {
        status: status([copy('b', 'synced')]),
        hosts: [host('a'), host('b', { ...silent, lost: lostSince('2026-01-31T11:50:01.000Z') }), host('c')],
      },
      'b lost',
    ],
    [
      'that come back when there is another go',
      { status: status([copy('b', 'lost'), copy('c', 'synced')]) },
      'c synced, leaving b',
    ],
    [
      'that come back with something that was set aside stay',
      {
        status: status([copy('b', 'lost'), copy('c', 'synced')]),
        reports: [report('b', { role: 'replica', epoch: 1, divergent: [{ name: 'divergent-1', epoch: 1, at: AT }] })],
      },
      'b syncing, c synced',
    ],
    [
      'of former primaries stay until it is known what only they have',
      {
        status: status([copy('b', 'lost'), copy('c', 'synced')], { epoch: 2 }),
        reports: [report('b', { role: 'primary', epoch: 1 })],
      },
      'b syncing, c synced',
    ],
    [
      'of former primaries go when that is nothing',
      {
        status: status([copy('b', 'lost'), copy('c', 'synced')], { epoch: 2 }),
        reports: [primary({ epoch: 2 }), report('b', { role: 'replica', epoch: 2 })],
      },
      'c synced, leaving b',
    ],
    [
      'that have not been compared with a promoted one yet stay: they may be fresher',
      {
        volume: { replicas: 2 },
        status: status([copy('b'), copy('c', 'synced'), copy('d', 'synced')], { epoch: 2 }),
        reports: [primary({ epoch: 2 }), report('b', { role: 'replica', epoch: 2, syncedEpoch: 1, syncedAt: AT })],
      },
      'b syncing, c synced, d synced',
    ],
    [
      'that have been compared go when there are enough',
      {
        volume: { replicas: 2 },
        status: status([copy('b'), copy('c', 'synced'), copy('d', 'synced')], { epoch: 2 }),
        reports: [primary({ epoch: 2 }), report('b', { role: 'replica', epoch: 2, syncedEpoch: 2, syncedAt: AT })],
      },
      'c synced, d synced, leaving b',
    ],
    [
      'whose disk was replaced get another beside them',
      {
        status: status([copy('b')], { epoch: 2 }),
        reports: [
          primary({ epoch: 2 }),
          report('b', { ...failedSince(11), isMissing: true, epoch: 1, role: 'primary' }),
        ],
      },
      `b syncing (${MISSING}), c syncing`,
    ],
    [
      'that began to fail just now do not',
      { status: status([copy('b')]), reports: [primary(), report('b', failedSince(9))] },
      'b syncing (no space)',
    ],
    [
      'that fail for long stay until the one beside them is complete',
      { status: status([copy('b'), copy('c')]), reports: [primary(), report('b', failedSince(11))] },
      'b syncing (no space), c syncing',
    ],
    [
      'that fail for long go then',
      {
        volume: { replicaNodes: ['node_b'] },
        status: status([copy('b'), copy('c', 'synced')]),
        reports: [primary(), report('b', failedSince(11))],
      },
      'c synced, leaving b',
    ],
    [
      'that all fail are not made on every node there is',
      {
        status: status([copy('b'), copy('c')]),
        reports: [primary(), report('b', failedSince(11)), report('c', failedSince(11))],
      },
      'b syncing (no space), c syncing (no space)',
    ],
    ['are not made while the node of the primary is gone', { status: status([]), hosts: [host('b')] }, ''],
    ['are found again when it is back', { status: status([copy('b', 'lost')]) }, 'b syncing'],
    [
      'that their node cannot hold are not synced',
      { status: status([copy('b', 'synced')]), reports: [report('b', { state: 'failed', message: 'no space' })] },
      'b syncing (no space)',
    ],
    [
      'on a node that is no longer enrolled are made elsewhere',
      { status: status([copy('b', 'synced')]), hosts: [host('a'), host('c')] },
      'c syncing',
    ],
    ['go where they are not wanted', { volume: { replicas: 0 }, status: status([copy('b')]) }, 'leaving b'],
    [
      'that are furthest stay of too many',
      { status: status([copy('b'), copy('c', 'synced'), copy('d', 'lost')]), hosts: ['a', 'b', 'c'].map(n => host(n)) },
      'c synced, leaving b',
    ],
    [
      'that were asked for by name stay before others',
      { volume: { replicaNodes: ['node_b'] }, status: status([copy('b', 'synced'), copy('c', 'synced')]) },
      'b synced, leaving c',
    ],
    [
      'that are complete stay until those that were asked for by name are too',
      { volume: { replicaNodes: ['node_b'] }, status: status([copy('b'), copy('c', 'synced')]) },
      `b syncing, c synced (${UNSAFE})`,
    ],
    [
      'that break the residency stay while the primary sends no heartbeats',
      {
        status: status([copy('b', 'synced')], { phase: 'Degraded' }),
        reports: [primary()],
        hosts: [host('a', silent), host('b', { isOutside: true })],
      },
      `b synced (${UNSAFE})`,
    ],
    [
      'that are excluded stay while the primary cannot provide the volume',
      {
        volume: { replicas: 0, excludedNodes: ['node_b'] },
        status: status([copy('b', 'synced')], { phase: 'Degraded' }),
        reports: [primary({ state: 'failed' })],
      },
      `b synced (${UNSAFE})`,
    ],
    [
      'that are excluded stay while the node of the only other one sends no heartbeats',
      {
        volume: { excludedNodes: ['node_b'] },
        status: status([copy('b', 'synced'), copy('c', 'synced')]),
        hosts: [host('a'), host('b'), host('c', silent)],
      },
      `b synced (${UNSAFE}), c lost`,
    ],
    [
      'beside which something was set aside stay where they break the residency',
      {
        status: status([copy('b', 'synced'), copy('c', 'synced')]),
        reports: [
          primary(),
          report('b', {
            role: 'replica',
            epoch: 1,
            syncedAt: AT,
            divergent: [{ name: 'divergent-1', epoch: 1, at: AT }],
          }),
        ],
        hosts: [host('a'), host('b', { isOutside: true }), host('c')],
      },
      `b synced (${UNSAFE}), c synced`,
    ],
    [
      'that are on a silent node stay where they are excluded',
      {
        volume: { excludedNodes: ['node_b'] },
        status: status([copy('b', 'synced'), copy('c', 'synced')]),
        hosts: [host('a'), host('b', silent), host('c')],
      },
      'b lost, c synced',
    ],
    [
      'are made elsewhere when one is excluded',
      { volume: { excludedNodes: ['node_b'] }, status: status([copy('b', 'synced'), copy('c', 'synced')]) },
      'c synced, leaving b',
    ],
    [
      'that are the only one stay until another is complete',
      { volume: { excludedNodes: ['node_b'] }, status: status([copy('b', 'synced')]) },
      `b synced (${UNSAFE}), c syncing`,
    ],
    [
      'that were given up go at once, with what was set aside beside them',
      {
        volume: { excludedNodes: ['node_b'], abandonedNodes: ['node_b'] },
        status: status([copy('b', 'synced')]),
        reports: [
          primary(),
          report('b', { role: 'replica', epoch: 1, divergent: [{ name: 'divergent-1', epoch: 1, at: AT }] }),
        ],
      },
      'c syncing, leaving b',
    ],
    [
      'that were given up go when their node sends no heartbeats',
      {
        volume: { replicas: 0, excludedNodes: ['node_b'], abandonedNodes: ['node_b'] },
        status: status([copy('b', 'synced')]),
        hosts: [host('a'), host('b', silent)],
      },
      'leaving b',
    ],
    [
      'that were given up stay while the primary does not serve',
      {
        volume: { replicas: 0, excludedNodes: ['node_b'], abandonedNodes: ['node_b'] },
        status: status([copy('b', 'synced')], { phase: 'Degraded' }),
        reports: [primary({ state: 'failed' })],
      },
      `b synced (${UNSAFE})`,
    ],
    [
      'leave a node that breaks the residency',
      {
        status: status([copy('b', 'synced')]),
        hosts: [host('a'), host('b', { isOutside: true, status: 'draining' }), host('c')],
      },
      `b synced (${UNSAFE}), c syncing`,
    ],
    [
      'leave a node that breaks the residency when another is complete',
      {
        status: status([copy('b', 'synced'), copy('c', 'synced')]),
        hosts: [host('a'), host('b', { isOutside: true, status: 'draining' }), host('c')],
      },
      'c synced, leaving b',
    ],
    [
      'are not put where one is still being removed',
      { volume: { replicas: 3 }, status: status([], { leaving: ['node_b'] }) },
      'c syncing, d syncing, leaving b',
    ],
    [
      'are not put where what was said of a former one still stands',
      { status: status([], { leaving: ['node_b'] }), reports: [report('b', { state: 'removed' })] },
      'c syncing',
    ],
    ['[2.6.6] are never where the primary is', { status: status([copy('a'), copy('b')]) }, 'b syncing'],
    [
      'of a lost status are known by their agents',
      { reports: [primary(), report('d', { epoch: 1, role: 'replica' })] },
      'd syncing',
    ],
    [
      'stay as they are while the volume is deleted',
      {
        volume: { replicas: 0, metadata: { ...volume.metadata, deletedAt: AT } },
        status: status([copy('b', 'synced')], { phase: 'Deleting' }),
      },
      'b synced',
    ],
  ];
  for (const [name, given, found] of cases) {
    it(`${name}: ${found}`, () => {
      const { copies, leaving = [] } = decideCopies(toInput(given), 'node_a');
      const told = copies.map(({ nodeId, state, message }) =>
        [nodeId.slice(5), state, message === undefined || state === 'lost' ? [] : `(${message})`].flat().join(' '),
      );
      expect([...told, ...leaving.map(id => `leaving ${id.slice(5)}`)].join(', ')).to.equal(found);
    });
  }

  it('carry how far they are into the status, which settles', () => {
    const told = { ...synced, state: 'syncing', sentBytes: 5, totalBytes: 10 } as const;
    const given = { status: status([copy('b')]), reports: [primary({ copies: [told] })] };
    const first = decideVolume(toInput(given));
    if ('remove' in first) throw new Error(first.remove);
    expect(first.status).to.deep.include({ epoch: 1, copies: [told], message: 'it is on a; 0 of 1 copy synced' });
    const again = decideVolume(toInput({ ...given, status: first.status }));
    expect('status' in again && again.status).to.equal(first.status);
  });

  it('keep what was measured of a whole transfer, until another is told', () => {
    const lastWhole = { bytes: 2 ** 30, seconds: 9 };
    const known = status([{ ...copy('b'), lastWhole }]);
    const later = { bytes: 2 ** 31, seconds: 7 };
    for (const [told, found] of [
      [synced, lastWhole],
      [{ ...synced, lastWhole: later }, later],
    ] as const) {
      const decided = decideVolume(toInput({ status: known, reports: [primary({ copies: [told] })] }));
      expect('status' in decided && decided.status.copies[0]?.lastWhole).to.deep.equal(found);
    }
  });

  it('of a lost status are kept, and no primary is guessed, until an agent says that it is the one', () => {
    const failed = (name: string, change: Partial<VolumeReport> = {}) => report(name, { state: 'failed', ...change });
    const first = decideVolume(toInput({ reports: [failed('a'), failed('b')] }));
    if ('remove' in first) throw new Error(first.remove);
    expect(first.status).to.include({ phase: 'Degraded', reason: 'volume_primary_unknown', epoch: 1 });
    expect(first.status).not.to.have.property('primaryNode');
    expect(first.status.copies.map(({ nodeId }) => nodeId)).to.deep.equal(['node_a', 'node_b']);
    const told = [failed('a', { role: 'replica', epoch: 2 }), failed('b', { role: 'primary', epoch: 2 })];
    const next = decideVolume(toInput({ status: first.status, reports: told }));
    expect('status' in next && next.status).to.include({ phase: 'Degraded', primaryNode: 'node_b' });
  });

  it('say why one has no node', () => {
    const decided = decideVolume(toInput({ status: status([]), reports: [report('a')], hosts: [host('a')] }));
    expect('status' in decided && decided.status.message).to.equal(
      'it is on a; 0 of 1 copy synced; 1 without a node: too few nodes',
    );
  });

  it('are removed with the volume, each by its own agent', () => {
    const deleted = { metadata: { ...volume.metadata, deletedAt: AT } };
    const held = status([copy('b', 'synced')], { phase: 'Deleting', leaving: ['node_c'] });
    const decide = (...reports: readonly VolumeReport[]) =>
      decideVolume(toInput({ volume: deleted, status: held, reports, hosts: ['a', 'b', 'c'].map(n => host(n)) }));
    const removed = (name: string) => report(name, { state: 'removed' });
    const waits = decide(removed('a'), removed('c'));
    expect('status' in waits && waits.status).to.include({ message: 'its bytes are being removed from b' });
    expect(decide(removed('a'), removed('b'), removed('c'))).to.deep.equal({
      remove: 'its bytes were removed from a, b, c',
    });
  });
});
