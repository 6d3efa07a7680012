import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { RotationRecord, RotationProgress } from '../../crds/rotation/index.js';
import type { ObservedReplica } from '../reading/index.js';
import { decidePhaserStep, type PhaserInput } from './decide.js';

const PATH = 'deployments/web-db';
const BEFORE = '2030-01-01T00:00:00.000Z';
const ASKED = '2030-01-01T01:00:00.000Z';
const AFTER = '2030-01-01T02:00:00.000Z';

const rotation = (phase: RotationRecord['phase'], change: Partial<RotationRecord> = {}): RotationRecord => ({
  id: 'rot_1',
  path: PATH,
  phase,
  from: 1,
  to: 2,
  material: { by: 'platform' },
  deployment: 'web',
  by: 'token',
  askedAt: ASKED,
  ...change,
});

const progress = (change: Partial<RotationProgress> = {}): RotationProgress => ({
  id: 'rot_1',
  phase: 'stage',
  holds: true,
  staged: true,
  raised: {},
  returned: {},
  at: ASKED,
  ...change,
});

const web = (change: Partial<StoredDeployment> = {}, createdAt = BEFORE): StoredDeployment => ({
  metadata: { tenant: 't1', uid: 'dep_web', generation: 1, createdAt, updatedAt: BEFORE, specHash: 'h' },
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 1,
  secretsVersion: 1,
  ...change,
});

/** A replica on a version of the credential, made for a secretsVersion. */
const on = (version: number, secretsVersion: number, report: Partial<Report> = {}, replica: Partial<Replica> = {}) =>
  ({
    replica: {
      uid: 'rep_1',
      deployment: 'web',
      deploymentUid: 'dep_web',
      slot: 0,
      nodeId: 'node_1',
      template: { image: 'web:1', secretsVersion },
      resolved: { versions: { [PATH]: version }, at: BEFORE },
      ...replica,
    },
    revision: 1,
    report: { state: 'running', health: 'healthy', ...report },
    node: 'well',
    misplaced: false,
  }) as unknown as ObservedReplica;

const input = (change: Partial<PhaserInput> & Pick<PhaserInput, 'rotation'>): PhaserInput => ({
  progress: progress(),
  versions: { last: 2, current: 1, pending: 2 },
  isBeingWritten: false,
  consumers: [web()],
  holders: [on(1, 1)],
  ...change,
});

const raised = progress({ phase: 'promote', holds: false, raised: { dep_web: 2 } });
const turned = { last: 2, current: 2, previous: 1 };
const done = { versions: turned, progress: raised, consumers: [web({ secretsVersion: 2 })], holders: [on(2, 2)] };

describe('decidePhaserStep', () => {
  const cases: readonly [name: string, given: PhaserInput, step: string][] = [
    [
      'stage mints a missing version',
      input({ rotation: rotation('stage'), progress: undefined, versions: { last: 1, current: 1 } }),
      'mint',
    ],
    ['stage does not mint an existing version', input({ rotation: rotation('stage'), progress: undefined }), 'hold'],
    [
      'stage does not mint values that the caller sends',
      input({ rotation: rotation('stage', { material: { by: 'caller' } }), versions: { last: 1, current: 1 } }),
      'wait',
    ],
    [
      'stage does not overwrite the version of another write',
      input({ rotation: rotation('stage'), versions: { last: 2, current: 2 } }),
      'wait',
    ],
    ['promote makes the staged version current', input({ rotation: rotation('promote') }), 'promote 2'],
    [
      'promote makes its version current also when another is pending',
      input({ rotation: rotation('promote'), versions: { last: 3, current: 1, pending: 3 } }),
      'promote 2',
    ],
    [
      'stage does not treat a version as its own while a request may be writing it',
      input({ rotation: rotation('stage'), progress: undefined, isBeingWritten: true }),
      'wait',
    ],
    [
      'stage mints nothing while a request is writing',
      input({ rotation: rotation('stage'), isBeingWritten: true, versions: { last: 1, current: 1 } }),
      'wait',
    ],
    [
      'retire completes when no deployment refers to the credential any more',
      input({ ...done, rotation: rotation('retire'), consumers: [], holders: [] }),
      'destroy 1',
    ],
    [
      'abort without consumers waits for the last container',
      input({
        ...done,
        rotation: rotation('abort'),
        consumers: [],
        versions: { last: 2, current: 1, pending: 2 },
      }),
      'wait',
    ],
    ['promote raises the consumer', input({ rotation: rotation('promote'), versions: turned }), 'raise web raised'],
    [
      'promote raises a consumer once',
      input({ rotation: rotation('promote'), versions: turned, progress: raised }),
      'wait',
    ],
    [
      'promote raises a stopped consumer',
      input({ rotation: rotation('promote'), versions: turned, consumers: [web({ replicas: 0 })], holders: [] }),
      'raise web raised',
    ],
    [
      'promote does not raise a later deployment with the new version',
      input({ rotation: rotation('promote'), versions: turned, consumers: [web({}, AFTER)], holders: [on(2, 1)] }),
      'hold',
    ],
    [
      'promote raises a later deployment with the old version',
      input({ rotation: rotation('promote'), versions: turned, consumers: [web({}, AFTER)], holders: [on(1, 1)] }),
      'raise web raised',
    ],
    [
      'promote is complete when all have the new version and are healthy',
      input({ ...done, rotation: rotation('promote') }),
      'hold',
    ],
    [
      'promote waits for health',
      input({ ...done, rotation: rotation('promote'), holders: [on(2, 2, { health: 'starting' })] }),
      'wait',
    ],
    [
      'promote waits for a replica that is missing',
      input({ ...done, rotation: rotation('promote'), holders: [] }),
      'wait',
    ],
    [
      'promote waits for an old container to go',
      input({
        ...done,
        rotation: rotation('promote'),
        holders: [on(2, 2), on(1, 1, {}, { slot: 1, retiringSince: AFTER })],
      }),
      'wait',
    ],
    [
      'promote does not wait for a removed container',
      input({
        ...done,
        rotation: rotation('promote'),
        holders: [on(2, 2), on(1, 1, { state: 'removed' }, { slot: 1, retiringSince: AFTER })],
      }),
      'hold',
    ],
    [
      'verify is complete when all have the new version and are healthy',
      input({ ...done, rotation: rotation('verify') }),
      'hold',
    ],
    [
      'verify waits for an unhealthy container',
      input({ ...done, rotation: rotation('verify'), holders: [on(2, 2, { health: 'unhealthy' })] }),
      'wait',
    ],
    ['retire destroys the old version', input({ ...done, rotation: rotation('retire') }), 'destroy 1'],
    [
      'retire waits for a container with the old version',
      input({ ...done, rotation: rotation('retire'), holders: [on(1, 2)] }),
      'wait',
    ],
    [
      'retire waits for a container that was given the old version before its replica was stamped anew',
      input({ ...done, rotation: rotation('retire'), holders: [{ ...on(2, 2), delivered: 1 }] }),
      'wait',
    ],
    [
      'retire of a first version destroys nothing',
      input({ ...done, rotation: rotation('retire', { from: 0 }) }),
      'hold',
    ],
    ['abort of a stage destroys the staged version', input({ rotation: rotation('abort') }), 'destroy 2'],
    [
      'abort of a stage that wrote nothing is complete at once',
      input({ rotation: rotation('abort'), progress: undefined, versions: { last: 1, current: 1 } }),
      'hold',
    ],
    [
      'abort does not destroy what a request may be writing',
      input({ rotation: rotation('abort'), progress: undefined, isBeingWritten: true }),
      'wait',
    ],
    [
      'abort destroys its own version also when another is pending beside it',
      input({ rotation: rotation('abort'), versions: { last: 3, current: 1, pending: 3 } }),
      'destroy 2',
    ],
    [
      'abort leaves the version of another write alone',
      input({ rotation: rotation('abort'), progress: undefined, versions: { last: 2, current: 2 } }),
      'hold',
    ],
    ['abort makes the old version current again', input({ ...done, rotation: rotation('abort') }), 'promote 1'],
    [
      'abort raises the consumers again',
      input({ ...done, rotation: rotation('abort'), versions: { last: 2, current: 1, pending: 2 } }),
      'raise web returned',
    ],
    [
      'abort keeps the new version while a container has it',
      input({
        ...done,
        rotation: rotation('abort'),
        versions: { last: 2, current: 1, pending: 2 },
        progress: { ...raised, returned: { dep_web: 3 } },
      }),
      'wait',
    ],
    [
      'abort keeps the new version while a container has it that was stamped with the old one meanwhile',
      input({
        ...done,
        rotation: rotation('abort'),
        versions: { last: 2, current: 1, pending: 2 },
        progress: { ...raised, returned: { dep_web: 3 } },
        holders: [{ ...on(1, 3), delivered: 2 }],
      }),
      'wait',
    ],
    [
      'abort destroys the new version when no container has it',
      input({
        ...done,
        rotation: rotation('abort'),
        versions: { last: 2, current: 1, pending: 2 },
        progress: { ...raised, returned: { dep_web: 3 } },
        holders: [on(1, 3)],
      }),
      'destroy 2',
    ],
  ];
  for (const [name, given, expected] of cases) {
    it(`${name}: ${expected}`, () => {
      const step = decidePhaserStep(given);
      const words = {
        mint: () => [],
        wait: () => [],
        hold: () => [],
        promote: () => [step.kind === 'promote' && step.to],
        destroy: () => [step.kind === 'destroy' && step.version],
        raise: () => (step.kind === 'raise' ? [step.consumer.name, step.ledger] : []),
      }[step.kind]();
      expect([step.kind, ...words].join(' ')).to.equal(expected);
    });
  }

  it('names the replica that a rotation waits for, and why', () => {
    const step = decidePhaserStep(
      input({ ...done, rotation: rotation('promote'), holders: [on(2, 2, { health: 'unhealthy' })] }),
    );
    expect(step.kind === 'wait' && step.for)
      .to.contain('0 of 1 replicas of web')
      .and.to.contain('replica 0 of web is unhealthy');
  });
});
