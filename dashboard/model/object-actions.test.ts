import { expect } from 'chai';

import type { VolumeView } from '../../crds/volume/index.js';
import {
  describeAdvice,
  describeMove,
  listBackupActions,
  listNetworkActions,
  listVolumeActions,
} from './object-actions.js';
import { toSecretBody } from './secret-body.js';

const nodes = [
  { id: 'node_1', name: 'a' },
  { id: 'node_2', name: 'b' },
];
const volumeOf = (more: object) =>
  ({
    id: 'vol_1',
    name: 'data',
    phase: 'Ready',
    move: null,
    lastMove: null,
    replicas: [],
    consumers: [],
    ...more,
  }) as unknown as VolumeView;
const moveOf = (more: object) =>
  volumeOf({ move: { from: 'node_1', to: 'node_2', message: 'm', generation: 3, ...more } });

describe('a volume that moves', () => {
  const copying = { ...moveOf({ phase: 'Copying' }), replicas: [{ nodeId: 'node_2', sentBytes: 41, totalBytes: 100 }] };
  const cases: readonly (readonly [string, VolumeView, string, readonly string[]])[] = [
    ['is not told of one that does not', volumeOf({}), '', ['Delete']],
    [
      'says how far the copy is',
      copying as unknown as VolumeView,
      'Copying from a to b (41 %): m',
      ['Cancel the move', 'Delete'],
    ],
    ['is not cancelled while it takes over', moveOf({ phase: 'Switching' }), 'Switching from a to b: m', ['Delete']],
    [
      'says why it is blocked, which is no order to cancel',
      volumeOf({ move: { phase: 'Blocked', message: 'no room' } }),
      'Blocked: no room',
      ['Delete'],
    ],
    [
      'tells how the last move ended',
      volumeOf({ lastMove: { from: 'node_1', to: 'node_9', message: 'done', downtimeSeconds: 2 } }),
      'moved from a to node_9: done; nothing could use it for 2 s',
      ['Delete'],
    ],
    [
      'tells that the last move was given up',
      volumeOf({
        lastMove: { from: 'node_1', to: 'node_2', message: 'too slow', isAborted: true },
        consumers: [{ deployment: 'db' }],
      }),
      'not moved from a to b: too slow',
      [],
    ],
    [
      'has no buttons while it is deleted',
      { ...moveOf({ phase: 'Copying' }), phase: 'Deleting' },
      'Copying from a to b: m',
      [],
    ],
  ];
  for (const [name, volume, said, labels] of cases) {
    it(name, () => {
      expect(describeMove(volume, nodes)).to.equal(said);
      const actions = listVolumeActions(volume);
      expect(actions.map(({ label }) => label)).to.deep.equal(labels);
      expect(actions.every(({ question }) => question?.includes('data'))).to.equal(true);
    });
  }
});

describe('what is done with backups, networks, advice and credentials', () => {
  it('is restored after a dry run has said what changes, and deleted after a question', () => {
    const [restore, remove] = listBackupActions({ id: 'bak_1', deploymentName: 'web' }, nodes);
    const ask = (answer: object) => restore!.describePreview!(answer);
    const diff = [{ path: '/environment/A' }, { path: '/environment/B' }, { path: '/image' }];
    const recreated = [{ replica: 0, nodeId: 'node_1' }];
    expect(ask({ change: 'update', diff, recreated })).to.equal(
      'Restore web? Changed: environment, image. Recreated: replica 0 on a.',
    );
    expect(ask({ change: 'create', diff: [] })).to.include('created again');
    expect(ask({ change: 'none', diff: [] })).to.include('nothing changes');
    expect([restore!.path, remove!.path]).to.deep.equal(['/api/v1/backups/bak_1/restore', '/api/v1/backups/bak_1']);
    expect(remove!.question).to.include('web');
  });

  it('deletes a network as it is shown', () => {
    const [remove] = listNetworkActions({ name: 'back', metadata: { revision: '7' } });
    expect(remove).to.include({ method: 'DELETE', path: '/api/v1/networks/back', revision: '7' });
  });

  it('says what advice does on which node, and how long it takes', () => {
    const preview = {
      nodes: [{ nodeId: 'node_9', name: null, change: 'grows' }],
      seconds: null,
      because: 'nothing was measured',
    };
    expect(describeAdvice('data', { preview })).to.equal(
      'Apply to data? node_9: grows. How long it takes is not known: nothing was measured.',
    );
  });

  it('sends values that were typed, and the names of those that are made', () => {
    const typed = { key: 'user', value: 'x', isGenerated: false };
    const made = { key: 'password', value: 'never sent', isGenerated: true };
    expect(toSecretBody([typed])).to.deep.equal({ values: { user: 'x' } });
    expect(toSecretBody([made])).to.deep.equal({ generate: { keys: ['password'] } });
    expect(toSecretBody([typed, made])).to.deep.equal({ values: { user: 'x' }, generate: { keys: ['password'] } });
  });
});
