import { expect } from 'chai';

import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import { containerTemplate, templateHash } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { Scheduling } from '../../crds/scheduling/index.js';
import type { SeenReplica, Whereabouts } from '../reading/index.js';
import { announce } from './announce.js';
import { rollStatus } from './decide.js';

const THEN = '2030-01-01T00:00:00.000Z';
const NOW = '2030-01-01T00:01:00.000Z';

const web = (change: Partial<StoredDeployment> = {}): StoredDeployment => ({
  metadata: { tenant: 't1', uid: 'dep_1', generation: 1, createdAt: THEN, updatedAt: THEN, specHash: 'h' },
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 2,
  secretsVersion: 3,
  ...change,
});

interface Sketch {
  readonly of?: StoredDeployment;
  readonly report?: Partial<Report> | 'none';
  readonly node?: Whereabouts;
  readonly retiring?: boolean;
}

const seen = (slot: number, { of = web(), report = {}, node = 'well', retiring }: Sketch = {}): SeenReplica => ({
  replica: {
    uid: `r${slot}`,
    tenant: 't1',
    deployment: 'web',
    deploymentUid: of.metadata.uid,
    slot,
    generation: 1,
    templateHash: templateHash(of),
    template: containerTemplate(of),
    createdAt: THEN,
    ...(node !== 'nowhere' && { nodeId: 'node_1' }),
    ...(retiring && { retiringSince: THEN }),
  },
  revision: 1,
  node,
  report:
    report === 'none' || node === 'nowhere'
      ? undefined
      : {
          replica: `r${slot}`,
          deployment: 'web',
          slot,
          nodeId: 'node_1',
          templateHash: templateHash(of),
          state: 'running',
          health: 'none',
          restarts: 0,
          containerId: `c${slot}`,
          at: THEN,
          ...report,
        },
});

const old = web({ image: 'web:0', secretsVersion: 2 });
const deleted = web({ metadata: { ...web().metadata, deletedAt: THEN } });
const refused: Scheduling = {
  uid: 'dep_1',
  unplaced: 1,
  summary: '0 of 1 nodes: 1 ready',
  cause: 'c',
  details: 'd',
  event: 'e',
  lastSeenAt: THEN,
};

const roll = (
  replicas: readonly SeenReplica[],
  deployment = web(),
  more: { scheduling?: Scheduling; previous?: DeploymentStatus } = {},
) => rollStatus({ deployment, replicas, scheduling: more.scheduling, previous: more.previous, now: NOW });

const holds = (status: DeploymentStatus, type: string) =>
  status.conditions.find(condition => condition.type === type)?.status;

describe('status roller', () => {
  const cases: readonly {
    name: string;
    replicas: readonly SeenReplica[];
    deployment?: StoredDeployment;
    scheduling?: Scheduling;
    phase: string;
    conditions: readonly [placed: string, available: string, progressing: string];
  }[] = [
    { name: 'nothing made yet', replicas: [], phase: 'Pending', conditions: ['False', 'False', 'True'] },
    {
      name: 'nothing placed yet',
      replicas: [seen(0, { node: 'nowhere' }), seen(1, { node: 'nowhere' })],
      phase: 'Pending',
      conditions: ['False', 'False', 'True'],
    },
    {
      name: 'no node will do',
      replicas: [seen(0, { node: 'nowhere' }), seen(1, { node: 'nowhere' })],
      scheduling: refused,
      phase: 'Unschedulable',
      conditions: ['False', 'False', 'True'],
    },
    {
      name: 'a node was refused to an earlier deployment of the name',
      replicas: [seen(0), seen(1)],
      scheduling: { ...refused, uid: 'dep_0' },
      phase: 'Running',
      conditions: ['True', 'True', 'False'],
    },
    {
      name: 'placed, not reported',
      replicas: [seen(0, { report: 'none' }), seen(1, { report: 'none' })],
      phase: 'Progressing',
      conditions: ['True', 'False', 'True'],
    },
    {
      name: 'one is pulling',
      replicas: [seen(0), seen(1, { report: { state: 'pulling' } })],
      phase: 'Progressing',
      conditions: ['True', 'False', 'True'],
    },
    {
      name: 'a health check has not passed yet',
      replicas: [seen(0), seen(1, { report: { health: 'starting' } })],
      phase: 'Progressing',
      conditions: ['True', 'False', 'True'],
    },
    {
      name: 'all serve',
      replicas: [seen(0), seen(1, { report: { health: 'healthy' } })],
      phase: 'Running',
      conditions: ['True', 'True', 'False'],
    },
    {
      name: 'one is unhealthy',
      replicas: [seen(0), seen(1, { report: { health: 'unhealthy' } })],
      phase: 'Degraded',
      conditions: ['True', 'False', 'True'],
    },
    {
      name: 'one has exited',
      replicas: [seen(0), seen(1, { report: { state: 'exited', reason: 'crash_loop' } })],
      phase: 'Degraded',
      conditions: ['True', 'False', 'True'],
    },
    {
      name: 'a node is not heard, whatever it said last',
      replicas: [seen(0), seen(1, { node: 'failed' })],
      phase: 'Degraded',
      conditions: ['True', 'False', 'True'],
    },
    {
      name: 'an old one serves while a new one starts',
      replicas: [seen(0, { report: { state: 'creating' } }), seen(1, { of: old })],
      phase: 'Progressing',
      conditions: ['True', 'True', 'True'],
    },
    {
      name: 'all serve and one too many is leaving',
      replicas: [seen(0), seen(1), seen(2, { retiring: true })],
      phase: 'Progressing',
      conditions: ['True', 'True', 'True'],
    },
    {
      name: 'stopped',
      replicas: [],
      deployment: web({ replicas: 0 }),
      phase: 'Stopped',
      conditions: ['True', 'True', 'False'],
    },
    {
      name: 'stopping',
      replicas: [seen(0, { retiring: true })],
      deployment: web({ replicas: 0 }),
      phase: 'Progressing',
      conditions: ['True', 'True', 'True'],
    },
    {
      name: 'deleting',
      replicas: [seen(0, { retiring: true })],
      deployment: deleted,
      phase: 'Deleting',
      conditions: ['True', 'True', 'True'],
    },
  ];

  for (const given of cases) {
    it(`${given.name}: ${given.phase}`, () => {
      const status = roll(given.replicas, given.deployment, given.scheduling ? { scheduling: given.scheduling } : {});

      expect(status.phase).to.equal(given.phase);
      expect(['Placed', 'Available', 'Progressing'].map(type => holds(status, type))).to.deep.equal(given.conditions);
    });
  }

  it('counts what is ready, up to date and held', () => {
    const status = roll([seen(0), seen(1, { of: old }), seen(2, { retiring: true })]);

    expect(status).to.include({
      replicas: 3,
      readyReplicas: 2,
      updatedReplicas: 1,
      secretsVersion: 2,
      observedGeneration: 1,
    });
    expect(status.placements.map(({ replica, state }) => [replica, state])).to.deep.equal([
      [0, 'running'],
      [1, 'running'],
      [2, 'stopping'],
    ]);
  });

  it('gives back what is stored when nothing has changed', () => {
    const previous = roll([seen(0), seen(1)]);
    expect(
      rollStatus({
        deployment: web(),
        replicas: [seen(0), seen(1)],
        scheduling: undefined,
        previous,
        now: '2031-01-01T00:00:00.000Z',
      }),
    ).to.equal(previous);
  });

  it('keeps the time of a condition that stands, and stamps one that turns', () => {
    const running = rollStatus({
      deployment: web(),
      replicas: [seen(0), seen(1)],
      scheduling: undefined,
      previous: undefined,
      now: THEN,
    });
    const degraded = roll([seen(0), seen(1, { report: { state: 'exited' } })], web(), { previous: running });
    const time = (type: string) => degraded.conditions.find(condition => condition.type === type)?.lastTransitionTime;

    expect([time('Placed'), time('Available')]).to.deep.equal([THEN, NOW]);
  });

  it('takes nothing over from an earlier deployment of the name', () => {
    const before = { ...roll([seen(0), seen(1)]), uid: 'dep_0' };
    const status = roll([seen(0), seen(1)], web(), {
      previous: { ...before, conditions: before.conditions.map(c => ({ ...c, lastTransitionTime: THEN })) },
    });
    expect(status.conditions.map(({ lastTransitionTime }) => lastTransitionTime)).to.deep.equal([NOW, NOW, NOW]);
  });
});

describe('status roller announces', () => {
  const running = roll([seen(0), seen(1)]);
  const progressing = roll([seen(0), seen(1, { report: 'none' })]);
  const degraded = roll([seen(0), seen(1, { report: { state: 'exited' } })]);
  const rolling = roll([seen(0, { of: old, retiring: true }), seen(1, { of: old })]);
  const lastOfRollout = roll([seen(0), seen(1, { report: 'none' })], web(), { previous: rolling });
  const rolledOut = roll([seen(0), seen(1)], web(), { previous: lastOfRollout });

  const cases: readonly [
    name: string,
    from: DeploymentStatus | undefined,
    to: DeploymentStatus,
    events: readonly string[],
  ][] = [
    ['a first start', undefined, progressing, ['deployment.progressing']],
    ['running', progressing, running, ['deployment.running']],
    ['degraded', running, degraded, ['deployment.degraded']],
    ['recovered', degraded, running, ['deployment.recovered']],
    ['a roll-out begins', running, rolling, ['deployment.progressing']],
    ['a roll-out goes on', rolling, lastOfRollout, []],
    ['a roll-out has ended', lastOfRollout, rolledOut, ['deployment.running', 'deployment.rollout_completed']],
    ['the same phase again', running, running, []],
    ['stopped', running, roll([], web({ replicas: 0 })), ['deployment.stopped']],
    ['unschedulable is the scheduler’s to tell', running, roll([], web(), { scheduling: refused }), []],
  ];

  for (const [name, from, to, events] of cases) {
    it(name, () => {
      expect(announce(web(), from, to, undefined).map(({ type }) => type)).to.deep.equal(events);
    });
  }

  it('says what the trouble is', () => {
    expect(announce(web(), running, degraded, 'crash_loop')[0]).to.include({
      reason: 'crash_loop',
      severity: 'warning',
    });
  });
});
