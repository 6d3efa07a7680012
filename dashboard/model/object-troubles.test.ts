import { expect } from 'chai';

import type { VolumeView } from '../../crds/volume/index.js';
import { listTroubles, type Trouble, type TroubleInput } from './troubles.js';
import type { JobView, ListedSecret, ShownNetwork, NodeView } from './views.js';

const AT = '2026-01-31T12:00:00Z';
const node = { id: 'node_a', name: 'a', status: 'ready', schedulable: { value: true, reason: '' } } as NodeView;
const find = (all: Partial<TroubleInput>) => listTroubles({ deployments: [], nodes: [node], ...all });

function expectOnly(found: readonly Trouble[], expected: Partial<Trouble>, words: readonly string[], labels: string[]) {
  expect(found).to.have.length(1);
  const [trouble] = found;
  expect(trouble).to.include(expected);
  const said = `${trouble!.title}\n${trouble!.cause}\n${trouble!.help}`;
  for (const word of words) expect(said).to.include(word);
  expect((trouble!.actions ?? []).map(({ label }) => label)).to.deep.equal(labels);
}

describe('what is wrong with volumes', () => {
  const volumeOf = (more: object) =>
    ({
      id: 'vol_1',
      name: 'data',
      phase: 'Ready',
      reason: 'volume_ready',
      message: 'm',
      move: null,
      since: AT,
      ...more,
    }) as VolumeView;

  const fine: readonly (readonly [string, object])[] = [
    ['one that is ready', {}],
    ['one that is made', { phase: 'Materializing', reason: 'volume_materializing' }],
    [
      'one that moves, and is stopped for it',
      { phase: 'Degraded', reason: 'volume_moving', move: { phase: 'Syncing' } },
    ],
    ['one that is being copied to another node', { move: { phase: 'Copying', message: 'x' } }],
    ['one that is deleted', { phase: 'Deleting', reason: 'volume_waiting' }],
  ];
  for (const [name, more] of fine) {
    it(`is nothing of ${name}`, () => expect(find({ volumes: [volumeOf(more)] })).to.deep.equal([]));
  }

  const wrong: readonly (readonly [string, object, Partial<Trouble>, string[], string[]])[] = [
    [
      'Degraded',
      { phase: 'Degraded', reason: 'volume_node_silent', message: 'node a sends no heartbeats' },
      { tone: 'bad', reason: 'volume_node_silent', since: AT },
      ['data is degraded', 'node a sends no heartbeats', 'moor get nodes', 'moor describe volume data'],
      [],
    ],
    [
      'Failed',
      { phase: 'Failed', reason: 'volume_node_gone', message: 'no copy is left' },
      { tone: 'bad' },
      ['data is failed', 'no copy is left', 'create a new one'],
      [],
    ],
    [
      'Pending because no node can hold it',
      { phase: 'Pending', reason: 'volume_waiting', message: '2 nodes have too little disk' },
      { tone: 'bad' },
      ['too little disk', 'enrol one'],
      [],
    ],
    [
      'Blocked on a node that is drained',
      { move: { phase: 'Blocked', message: 'no node can take it', since: AT }, primaryNodeName: 'b' },
      { tone: 'warn', reason: 'volume_move_blocked' },
      ['data cannot leave b', 'no node can take it', 'moor nodes undrain b'],
      ['End the drain'],
    ],
    [
      'not of the size that is asked for',
      { reason: 'volume_refused', message: 'the disk is full' },
      { tone: 'warn' },
      ['the disk is full', 'ask for the size that it has'],
      [],
    ],
  ];
  for (const [name, more, expected, words, labels] of wrong) {
    it(`is told of one that is ${name}`, () => {
      expectOnly(find({ volumes: [volumeOf(more)] }), { href: '#/volumes', ...expected }, words, labels);
    });
  }
});

describe('what is wrong with networks, jobs and rotations', () => {
  const jobOf = (status: object, more: object = {}) =>
    ({ name: 'once', metadata: {}, status: { history: [], attempts: 1, ...status }, ...more }) as unknown as JobView;
  const failedRun = { name: 'nightly-7', phase: 'Failed', exitCode: 3, finishedAt: AT };

  it('is told of a network that its engine refuses, and of one whose node is silent', () => {
    const networkOf = (state: string, reason: string) =>
      ({ name: 'back', status: { state, reason, message: 'no free address', since: AT } }) as ShownNetwork;
    expect(find({ networks: [networkOf('ready', 'network_ready'), { name: 'new', status: null }] })).to.deep.equal([]);
    const failed = find({ networks: [networkOf('failed', 'network_refused')] });
    expectOnly(
      failed,
      { tone: 'bad', href: '#/networks' },
      ['back is failed', 'no free address', 'words of the engine'],
      [],
    );
    const silent = find({ networks: [networkOf('unknown', 'network_node_silent')] });
    expectOnly(silent, { tone: 'warn' }, ['moor get nodes'], []);
  });

  it('is told of a job that has failed or finds no node, with its log and a button', () => {
    const failed = { phase: 'Failed', reason: 'backoff_limit_reached', message: 'exit code 5', finishedAt: AT };
    expectOnly(
      find({ jobs: [jobOf(failed)] }),
      { tone: 'bad', since: AT },
      ['exit code 5', 'moor logs job/once'],
      ['Delete'],
    );
    const waiting = { phase: 'Pending', reason: 'unschedulable', message: 'no node fits' };
    expectOnly(
      find({ jobs: [jobOf(waiting)] }),
      { href: '#/jobs/once' },
      ['no node fits', 'moor describe job once'],
      ['Delete'],
    );
    expect(find({ jobs: [jobOf({ phase: 'Succeeded' }), jobOf({ phase: 'Running' })] })).to.deep.equal([]);
    expect(find({ jobs: [jobOf(failed, { metadata: { deletedAt: AT } })] })).to.deep.equal([]);
  });

  it('is told of a schedule whose last run failed, and once only', () => {
    const schedule = jobOf({ phase: 'Scheduled', lastRun: failedRun }, { name: 'nightly', schedule: '0 3 * * *' });
    const run = jobOf(
      { phase: 'Failed', message: 'x' },
      { name: 'nightly-7', metadata: { owner: { name: 'nightly' } } },
    );
    expectOnly(
      find({ jobs: [schedule, run] }),
      { since: AT, href: '#/jobs/nightly' },
      ['exit code 3', 'moor logs job/nightly-7'],
      [],
    );
    const better = jobOf(
      { phase: 'Scheduled', lastRun: { ...failedRun, phase: 'Succeeded' } },
      { schedule: '0 3 * * *' },
    );
    expect(find({ jobs: [better] })).to.deep.equal([]);
  });

  it('is told of a rotation until its end: what it waits for, the next phase and the way back', () => {
    const rotation = { secret: 'db', phase: 'stage', holds: true, next: 'promote', waitsFor: null, isAborting: false };
    const secretOf = (more: object) =>
      ({ path: 'deployments/db', version: 1, deployments: ['web'], ...more }) as unknown as ListedSecret;
    const open = { ...rotation, deployment: 'web', since: AT };
    expect(find({ secrets: [secretOf({})] })).to.deep.equal([]);
    expectOnly(
      find({ secrets: [secretOf({ rotation: open })] }),
      { tone: 'warn', href: '#/deployments/web' },
      [
        'deployments/db is at stage',
        'promote is to be asked for',
        'moor rotate web --secret db --phase promote',
        '--phase abort',
      ],
      ['Next: promote', 'Abort'],
    );
    const waits = { ...open, holds: false, waitsFor: 'replica 0 of web' };
    expectOnly(
      find({ secrets: [secretOf({ rotation: waits })] }),
      {},
      ['It waits for replica 0 of web', '--phase abort'],
      ['Abort'],
    );
    const gone = secretOf({ rotation: { ...open, deployment: 'old' }, deployments: ['web'] });
    expectOnly(
      find({ secrets: [gone] }),
      { href: '#/deployments/web' },
      ['moor rotate web'],
      ['Next: promote', 'Abort'],
    );
    const back = { ...waits, isAborting: true };
    expectOnly(find({ secrets: [secretOf({ rotation: back })] }), {}, ['is turned back', 'ends by itself'], []);
  });

  it('stands behind nodes and before nothing that it causes', () => {
    const down = { ...node, name: 'b', status: 'failed' } as NodeView;
    const volume = {
      id: 'vol_1',
      name: 'data',
      phase: 'Failed',
      reason: 'volume_node_gone',
      message: '',
      move: null,
    } as unknown as VolumeView;
    const keys = find({ nodes: [down], volumes: [volume], jobs: [jobOf({ phase: 'Failed', message: '' })] }).map(
      ({ key }) => key,
    );
    expect(keys).to.deep.equal(['node/b', 'volume/vol_1', 'job/once']);
  });
});
