import { expect } from 'chai';

import type { UnresolvedRecord } from '../../crds/delivery/index.js';
import type { DeploymentStatus, StoredDeployment } from '../../crds/deployment/index.js';
import { toContainerTemplate, computeTemplateHash } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { SchedulingReport } from '../../crds/scheduling/index.js';
import type { ObservedReplica, ReplicaNodeState, UnmetDependency } from '../reading/index.js';
import { draftStatusEvents, rollStatus } from './decide.js';
import { summariseReplicas } from './summary.js';

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
  readonly node?: ReplicaNodeState;
  readonly retiring?: boolean;
  readonly misplaced?: boolean;
}

const seen = (
  slot: number,
  { of = web(), report = {}, node = 'well', retiring, misplaced = false }: Sketch = {},
): ObservedReplica => ({
  misplaced,
  replica: {
    uid: `r${slot}`,
    tenant: 't1',
    deployment: 'web',
    deploymentUid: of.metadata.uid,
    slot,
    generation: 1,
    templateHash: computeTemplateHash(of),
    template: toContainerTemplate(of),
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
          templateHash: computeTemplateHash(of),
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
const refused: SchedulingReport = {
  uid: 'dep_1',
  unplaced: 1,
  summary: '0 of 1 node: 1 not ready',
  filters: ['ready'],
  refusing: ['ready'],
  residencyUnmet: false,
  cause: 'c',
  details: 'd',
  event: 'e',
  lastSeenAt: THEN,
};

interface More {
  readonly scheduling?: SchedulingReport;
  readonly previous?: DeploymentStatus;
  readonly unmet?: readonly UnmetDependency[];
  readonly unresolved?: UnresolvedRecord;
  readonly enforced?: boolean;
  readonly now?: string;
}

const roll = (replicas: readonly ObservedReplica[], deployment = web(), more: More = {}) =>
  rollStatus({
    deployment,
    replicas,
    scheduling: more.scheduling,
    previous: more.previous,
    unmet: more.unmet ?? [],
    unresolved: more.unresolved,
    enforced: more.enforced ?? true,
    now: more.now ?? NOW,
  });

const absent: UnmetDependency = { name: 'db', condition: 'healthy', because: 'is not there' };
const dependent = web({ dependsOn: [{ name: 'db', condition: 'healthy' }] });
const german = web({ placement: { residency: { country: 'DE' } } });

const holds = (status: DeploymentStatus, type: string) =>
  status.conditions.find(condition => condition.type === type)?.status;

describe('status roller', () => {
  const cases: readonly {
    name: string;
    replicas: readonly ObservedReplica[];
    deployment?: StoredDeployment;
    scheduling?: SchedulingReport;
    unmet?: readonly UnmetDependency[];
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
      name: 'no node satisfies the residency',
      replicas: [seen(0, { node: 'nowhere' }), seen(1, { node: 'nowhere' })],
      deployment: german,
      scheduling: { ...refused, residencyUnmet: true },
      phase: 'Waiting',
      conditions: ['False', 'False', 'True'],
    },
    {
      name: 'a dependency is not there',
      replicas: [],
      deployment: dependent,
      unmet: [absent],
      phase: 'Waiting',
      conditions: ['False', 'False', 'True'],
    },
    {
      name: 'a dependency has gone after the start',
      replicas: [seen(0), seen(1)],
      deployment: dependent,
      unmet: [absent],
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
      name: '[2.3.9] one is unhealthy',
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
      name: 'a node sends no heartbeats, whatever it reported last',
      replicas: [seen(0), seen(1, { node: 'failed' })],
      phase: 'Degraded',
      conditions: ['True', 'False', 'True'],
    },
    {
      name: 'the old ones serve while a new one starts beside them',
      replicas: [seen(0, { of: old }), seen(1, { of: old }), seen(2, { report: { state: 'creating' } })],
      phase: 'Progressing',
      conditions: ['True', 'True', 'True'],
    },
    {
      name: 'all serve and one too many is leaving',
      replicas: [seen(0), seen(1), seen(2, { retiring: true })],
      phase: 'Running',
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
      const status = roll(given.replicas, given.deployment, given);

      expect(status.phase).to.equal(given.phase);
      expect(['Placed', 'Available', 'Progressing'].map(type => holds(status, type))).to.deep.equal(given.conditions);
    });
  }

  it('counts ready, updated and existing replicas', () => {
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

  it('counts no replica that has no node yet', () => {
    const waiting = roll([seen(0), seen(1, { node: 'nowhere' })]);
    expect([waiting.replicas, waiting.updatedReplicas, waiting.placements.length]).to.deep.equal([1, 1, 2]);
    const unschedulable = roll([seen(0, { node: 'nowhere' }), seen(1, { node: 'nowhere' })]);
    const { replicas, readyReplicas, updatedReplicas } = unschedulable;
    expect([replicas, readyReplicas, updatedReplicas]).to.deep.equal([0, 0, 0]);
  });

  it('returns the stored status when nothing has changed', () => {
    const previous = roll([seen(0), seen(1)]);
    expect(roll([seen(0), seen(1)], web(), { previous, now: '2031-01-01T00:00:00.000Z' })).to.equal(previous);
  });

  it('keeps the time of a condition that is unchanged, and updates that of one that changes', () => {
    const running = roll([seen(0), seen(1)], web(), { now: THEN });
    const degraded = roll([seen(0), seen(1, { report: { state: 'exited' } })], web(), { previous: running });
    const time = (type: string) => degraded.conditions.find(condition => condition.type === type)?.lastTransitionTime;

    expect([time('Placed'), time('Available')]).to.deep.equal([THEN, NOW]);
  });

  it('never counts more ready replicas than wanted', () => {
    const status = roll([seen(0), seen(1), seen(2)], web({ replicas: 1 }));
    expect(status).to.include({ phase: 'Running', readyReplicas: 1, replicas: 3 });
    expect(status.message).to.equal('1 of 1 replicas ready; 2 containers left to remove');
  });

  const residency: readonly [name: string, status: DeploymentStatus, holds: string | undefined, reason: string][] = [
    ['the deployment does not ask for it', roll([seen(0), seen(1)]), undefined, ''],
    ['it is kept', roll([seen(0), seen(1)], german), 'True', 'Satisfied'],
    ['no replica has a node yet', roll([seen(0, { node: 'nowhere' })], german), 'Unknown', 'Waiting'],
    [
      'no node satisfies it',
      roll([], german, { scheduling: { ...refused, residencyUnmet: true } }),
      'False',
      'NoMatchingNode',
    ],
    ['a node breaks it', roll([seen(0), seen(1, { misplaced: true })], german), 'False', 'Violated'],
    [
      'what breaks it is leaving',
      roll([seen(0), seen(1, { misplaced: true, retiring: true })], german),
      'False',
      'Violated',
    ],
    [
      'what broke it is removed',
      roll([seen(0, { misplaced: true, report: { state: 'removed' } })], german),
      'True',
      'Satisfied',
    ],
    ['it is not enforced', roll([seen(0), seen(1)], german, { enforced: false }), 'Unknown', 'EnforcementOff'],
  ];
  for (const [name, status, expected, reason] of residency) {
    it(`reports residency when ${name}`, () => {
      const condition = status.conditions.find(({ type }) => type === 'ResidencySatisfied');
      expect([condition?.status, condition?.reason ?? '']).to.deep.equal([expected, reason]);
    });
  }

  const stalls: readonly [name: string, replica: ObservedReplica, reason: string | undefined, says?: RegExp][] = [
    ['an image is pulled', seen(1, { report: { state: 'pulling' } }), undefined],
    [
      'a pull gets nothing',
      seen(1, { report: { state: 'pulling', since: THEN, reason: 'pull_stuck', message: 'check the registry' } }),
      'PullingTooLong',
      /^replica 1 has been pulling its image since 2030-01-01T00:00:00\.000Z: check the registry$/,
    ],
    ['a container is created', seen(1, { report: { state: 'creating' } }), undefined],
    [
      'the engine does not create it',
      seen(1, { report: { state: 'creating', since: THEN, reason: 'create_stuck', message: 'look at the engine' } }),
      'CreatingTooLong',
      /^replica 1 has been creating since .*: look at the engine$/,
    ],
    ['a container is removed', seen(1, { retiring: true }), undefined],
    [
      'the engine does not stop it',
      seen(1, { retiring: true, report: { state: 'stopping', reason: 'stop_failed', message: 'cannot kill' } }),
      'StoppingTooLong',
      /^replica 1 has been stopping since 2030-01-01T00:00:00\.000Z: cannot kill$/,
    ],
  ];
  for (const [name, replica, reason, says] of stalls) {
    it(`${reason === undefined ? 'has no condition Stalled' : `sets the condition Stalled (${reason})`} while ${name}`, () => {
      const stalled = roll([seen(0), replica]).conditions.find(({ type }) => type === 'Stalled');
      expect(stalled?.reason).to.equal(reason);
      if (says) expect(stalled).to.have.property('message').that.matches(says);
      if (reason) expect(stalled?.status).to.equal('True');
    });
  }

  it('names the node of each replica, also of one that was deleted under it', () => {
    const before = roll([{ ...seen(0), nodeName: 'attic' }, seen(1)]);
    expect(before.placements.map(({ nodeId, nodeName }) => [nodeId, nodeName])).to.deep.equal([
      ['node_1', 'attic'],
      ['node_1', undefined],
    ]);
    const after = roll([seen(0, { node: 'gone' })], web({ replicas: 1 }), { previous: before });
    expect(after.placements[0]).to.include({
      nodeName: 'attic',
      message: 'its node attic was deleted: it is replaced',
    });
  });

  it('shows image, generation and user of each replica, which differ while it is rolled out', () => {
    const { placements } = roll([
      seen(0, { of: old, report: { user: '' } }),
      { ...seen(1, { report: { user: '1000:1000' } }), replica: { ...seen(1).replica, generation: 2 } },
      seen(2, { report: 'none' }),
    ]);
    expect(placements.map(({ image, generation, user }) => [image, generation, user])).to.deep.equal([
      ['web:0', 1, ''],
      ['web:1', 2, '1000:1000'],
      ['web:1', 1, undefined],
    ]);
  });

  it('reports dependencies of a deployment that has some', () => {
    expect(holds(roll([]), 'DependenciesHealthy')).to.equal(undefined);
    expect(holds(roll([], dependent), 'DependenciesHealthy')).to.equal('True');
    const waiting = roll([], dependent, { unmet: [absent] });
    expect(holds(waiting, 'DependenciesHealthy')).to.equal('False');
    expect(waiting.message).to.equal('waits for db, which is not there');
  });

  it('says that secrets are missing only while a replica that stays lacks them', () => {
    const secrets = [{ name: 'KEY', vault_path: 'app/key', anchor: 'process', rotation: 'restart' }] as const;
    const secretive = web({ image: 'web:0', secrets });
    const unresolved: UnresolvedRecord = {
      uid: 'dep_1',
      reason: 'secret_missing',
      message: 'not in the secrets store: app/key',
      replicas: 1,
      since: THEN,
      lastSeenAt: THEN,
      event: 'evt_1',
    };
    const lacking = seen(0, { of: secretive, report: 'none' });
    expect(roll([lacking], { ...secretive, replicas: 1 }, { unresolved })).to.include({
      phase: 'Degraded',
      message: '0 of 1 replicas ready; not in the secrets store: app/key',
    });
    const corrected = roll([lacking, seen(1, { report: 'none' })], web({ replicas: 1 }), { unresolved });
    expect(corrected).to.include({ phase: 'Progressing', message: '0 of 1 replicas ready' });
    expect(holds(corrected, 'SecretsResolved')).to.equal(undefined);
    const besideCanary = roll([lacking], web({ replicas: 1 }), { unresolved });
    expect(holds(besideCanary, 'SecretsResolved')).to.equal('False');
  });

  it('ignores the status of an earlier deployment of the name', () => {
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
    ['scaled down', running, roll([seen(0), seen(1)], web({ replicas: 1 })), []],
    ['waiting', undefined, roll([], dependent, { unmet: [absent] }), ['deployment.waiting']],
  ];
  const nothing = summariseReplicas({ deployment: web(), replicas: [], scheduling: undefined, unmet: [], now: NOW });

  for (const [name, from, to, events] of cases) {
    it(name, () => {
      expect(draftStatusEvents(web(), from, to, nothing).map(({ type }) => type)).to.deep.equal(events);
    });
  }

  it('the reason of a degraded deployment', () => {
    const replicas = [seen(0), seen(1, { report: { state: 'exited', reason: 'crash_loop' } })];
    const standing = summariseReplicas({ deployment: web(), replicas, scheduling: undefined, unmet: [], now: NOW });
    expect(draftStatusEvents(web(), running, degraded, standing)[0]).to.include({
      reason: 'crash_loop',
      severity: 'warning',
    });

    const told = (reason: string) => {
      const status = { ...degraded, events: [{ type: 'deployment.degraded', reason, id: 'evt_1', at: THEN }] };
      return draftStatusEvents(web(), degraded, status, standing).map(event => event.reason);
    };
    expect(told('crash_loop'), 'once').to.deep.equal([]);
    expect(told('oom_killed'), 'again when another takes its place').to.deep.equal(['crash_loop']);
    const changed = draftStatusEvents(web({ image: 'web:2' }), degraded, degraded, standing);
    expect(changed, 'and of a changed deployment, whose status names no event yet').to.have.length(1);
  });

  it('a broken residency once, where replicas cannot be moved', () => {
    const volumes = [{ volumeId: 'vol_1', type: 'volume' as const, mountPath: '/data', readOnly: false, subPath: '' }];
    const kept = roll([seen(0), seen(1)], german);
    const broken = roll([seen(0), seen(1, { misplaced: true })], german);
    const types = (of: StoredDeployment, from: DeploymentStatus, to: DeploymentStatus) =>
      draftStatusEvents(of, from, to, nothing).map(({ type }) => type);

    expect(types({ ...german, volumes }, kept, broken)).to.deep.equal(['deployment.residency_violated']);
    expect(types({ ...german, volumes }, broken, broken)).to.deep.equal([]);
    expect(types(german, kept, broken)).to.deep.equal([]);
  });

  it('says what a replica waits for whose volume is held, and does not call it failing', () => {
    const report = { state: 'creating', reason: 'volume_held', message: 'volume vol_1 moves to another node' } as const;
    const { phase, message } = roll([seen(0), seen(1, { report })]);
    expect(`${phase}: ${message}`).to.match(/^Progressing: 1 of 2 .*volume vol_1 moves/);
  });
});
