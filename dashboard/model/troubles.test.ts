import { expect } from 'chai';

import { summariseCapacity } from './capacity.js';
import { buildPlacementGrid } from './placement-grid.js';
import { getNodeTone, getPhaseTone, listShownSteps, listTroubles } from './troubles.js';
import type { DeploymentView, NodeView } from './views.js';

type Status = NonNullable<DeploymentView['status']>;

function deploymentOf(name: string, status: Partial<Status> = {}, more: Partial<DeploymentView> = {}): DeploymentView {
  const at = '2026-01-31T12:00:00.000Z';
  const metadata = { uid: `dep_${name}`, tenant: 't', generation: 1, createdAt: at, updatedAt: at, revision: '1' };
  const base = { phase: 'Running', message: 'as asked', replicas: 1, readyReplicas: 1, updatedReplicas: 1 };
  return {
    kind: 'Deployment',
    name,
    image: 'registry.example.com/web:1',
    replicas: 1,
    secretsVersion: 0,
    metadata,
    status: {
      uid: metadata.uid,
      observedGeneration: 1,
      secretsVersion: 0,
      placements: [],
      conditions: [],
      ...base,
      ...status,
    },
    ...more,
  } as unknown as DeploymentView;
}

const placed = {
  type: 'Placed',
  status: 'True',
  reason: 'Placed',
  message: 'on a',
  lastTransitionTime: '2026-01-31T12:00:00Z',
};
const broken = deploymentOf('broken', {
  phase: 'Degraded',
  readyReplicas: 0,
  conditions: [placed] as unknown as Status['conditions'],
  placements: [
    {
      replica: 0,
      nodeId: 'node_1',
      state: 'exited',
      health: 'none',
      restarts: 3,
      containerId: 'c'.repeat(64),
      since: '2026-01-31T12:01:00Z',
      reason: 'crash_loop',
      message: 'it ended with exit code 3',
    },
  ],
});

function nodeOf(name: string, more: Partial<NodeView> = {}): NodeView {
  return {
    id: `node_${name}`,
    name,
    status: 'ready',
    schedulable: { value: true, reason: 'ready' },
    controlPlane: false,
    labels: {},
    capacity: { cpu: 4000, memory: 8 * 1024 ** 3, disk: 0 },
    free: { cpu: 1000, memory: 6 * 1024 ** 3, disk: 0 },
    agent: { version: '0.1.0' },
    metadata: {} as NodeView['metadata'],
    ...more,
  };
}

describe('what is wrong', () => {
  it('is nothing while everything runs, or is on its way', () => {
    const starting = deploymentOf('starting', {
      phase: 'Progressing',
      readyReplicas: 0,
      conditions: [placed] as never,
    });
    expect(
      listTroubles({
        deployments: [deploymentOf('web'), starting, deploymentOf('new', { phase: 'Pending' })],
        nodes: [nodeOf('a')],
      }),
    ).to.deep.equal([]);
  });

  it('names the step that waits, the cause in the words of the replica, and what helps', () => {
    const [trouble] = listTroubles({ deployments: [broken], nodes: [nodeOf('a')] });
    expect(trouble).to.include({ tone: 'bad', reason: 'crash_loop', href: '#/deployments/broken' });
    expect(trouble!.title).to.include('broken is degraded');
    expect(trouble!.cause).to.include('exit code 3');
    expect(trouble!.help).to.include('moor logs broken');
    expect(trouble).to.not.have.property('actions');
    const paused = { ...broken, rollout: { paused: true } } as unknown as DeploymentView;
    const [waiting] = listTroubles({ deployments: [paused], nodes: [nodeOf('a')] });
    expect(waiting!.actions!.map(({ label }) => label)).to.deep.equal(['Resume the rollout']);
  });

  it('puts nodes first, since deployments may follow from them, and says when there is none', () => {
    const engine = {
      type: 'EngineReady',
      status: 'False',
      reason: 'engine_unreachable',
      message: 'no answer',
    } as const;
    const nodes = [nodeOf('b', { status: 'unready', conditions: [engine] }), nodeOf('c', { status: 'draining' })];
    const keys = (given: readonly NodeView[]) =>
      listTroubles({ deployments: [broken], nodes: given }).map(({ key }) => key);
    expect(keys(nodes)).to.deep.equal(['node/b', 'node/c', 'deployment/broken']);
    expect(keys([])).to.deep.equal(['nodes', 'deployment/broken']);
  });

  it('never fails on a deployment that no loop has looked at', () => {
    const fresh = { ...deploymentOf('fresh'), status: null };
    expect([listTroubles({ deployments: [fresh], nodes: [nodeOf('a')] }), listShownSteps(fresh)]).to.deep.equal([
      [],
      [],
    ]);
  });
});

describe('tones', () => {
  it('are bad for what is not known', () => {
    expect([getPhaseTone('Running'), getPhaseTone('Failed'), getPhaseTone('Later')]).to.deep.equal([
      'good',
      'bad',
      'bad',
    ]);
    expect([getNodeTone('ready'), getNodeTone('failed')]).to.deep.equal(['good', 'bad']);
  });
});

describe('capacity', () => {
  it('is the sum over nodes, and 0 percent of nothing', () => {
    const [cpu, memory] = summariseCapacity([nodeOf('a'), nodeOf('b')]);
    expect(cpu).to.deep.equal({ label: 'CPU', percent: 75, text: '6 of 8 cores requested' });
    expect(memory).to.deep.include({ percent: 25, text: '4GiB of 16GiB requested' });
    expect(summariseCapacity([]).map(({ percent }) => percent)).to.deep.equal([0, 0]);
  });
});

describe('the grid of placement', () => {
  it('has the filters that refuse some node, with who is in the way', () => {
    const holder = { deployment: 'holder', replica: 0, holds: '8080/tcp' };
    const grid = buildPlacementGrid({
      filters: ['ready', 'port', 'resources'],
      candidates: [
        { node: 'a', replicas: 0, rank: 1, reasons: [] },
        {
          node: 'b',
          replicas: 1,
          rank: null,
          reasons: [{ filter: 'port', message: '8080 is taken', inTheWay: [holder] }],
        },
      ],
    });
    expect(grid.filters).to.deep.equal(['port']);
    expect(grid.rows.map(({ node, isAble, note }) => [node, isAble, note])).to.deep.equal([
      ['a', true, 'rank 1'],
      ['b', false, '1 here'],
    ]);
    expect(grid.rows[1]!.cells[0]!.message).to.equal('8080 is taken (replica 0 of holder holds 8080/tcp)');
  });
});
