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

const asked = (phase: RotationRecord['phase'], change: Partial<RotationRecord> = {}): RotationRecord => ({
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

const facts = (change: Partial<PhaserInput> & Pick<PhaserInput, 'asked'>): PhaserInput => ({
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
    ['mints', facts({ asked: asked('stage'), progress: undefined, versions: { last: 1, current: 1 } }), 'mint'],
    ['does not mint what is there', facts({ asked: asked('stage'), progress: undefined }), 'hold'],
    [
      'does not mint what the caller sends',
      facts({ asked: asked('stage', { material: { by: 'caller' } }), versions: { last: 1, current: 1 } }),
      'wait',
    ],
    [
      'does not stage over another version',
      facts({ asked: asked('stage'), versions: { last: 2, current: 2 } }),
      'wait',
    ],
    ['makes the staged version current', facts({ asked: asked('promote') }), 'turn 2'],
    [
      'makes it current also when another is pending beside it',
      facts({ asked: asked('promote'), versions: { last: 3, current: 1, pending: 3 } }),
      'turn 2',
    ],
    [
      'does not take a version for its own while a request may be writing it',
      facts({ asked: asked('stage'), progress: undefined, isBeingWritten: true }),
      'wait',
    ],
    [
      'mints nothing while a request is writing',
      facts({ asked: asked('stage'), isBeingWritten: true, versions: { last: 1, current: 1 } }),
      'wait',
    ],
    [
      'retire goes to its end when nobody refers to it any more',
      facts({ ...done, asked: asked('retire'), consumers: [], holders: [] }),
      'destroy 1',
    ],
    [
      'abort without consumers waits for the last container',
      facts({
        ...done,
        asked: asked('abort'),
        consumers: [],
        versions: { last: 2, current: 1, pending: 2 },
      }),
      'wait',
    ],
    ['raises the consumer', facts({ asked: asked('promote'), versions: turned }), 'raise web raised'],
    ['raises it once', facts({ asked: asked('promote'), versions: turned, progress: raised }), 'wait'],
    [
      'raises a stopped one',
      facts({ asked: asked('promote'), versions: turned, consumers: [web({ replicas: 0 })], holders: [] }),
      'raise web raised',
    ],
    [
      'does not raise what was made later with the new version',
      facts({ asked: asked('promote'), versions: turned, consumers: [web({}, AFTER)], holders: [on(2, 1)] }),
      'hold',
    ],
    [
      'raises what was made later with the old version',
      facts({ asked: asked('promote'), versions: turned, consumers: [web({}, AFTER)], holders: [on(1, 1)] }),
      'raise web raised',
    ],
    ['promote holds when all are on it and well', facts({ ...done, asked: asked('promote') }), 'hold'],
    [
      'promote waits for health',
      facts({ ...done, asked: asked('promote'), holders: [on(2, 2, { health: 'starting' })] }),
      'wait',
    ],
    ['promote waits for a replica that is missing', facts({ ...done, asked: asked('promote'), holders: [] }), 'wait'],
    [
      'promote waits for an old container to go',
      facts({ ...done, asked: asked('promote'), holders: [on(2, 2), on(1, 1, {}, { slot: 1, retiringSince: AFTER })] }),
      'wait',
    ],
    [
      'promote does not wait for one that is removed',
      facts({
        ...done,
        asked: asked('promote'),
        holders: [on(2, 2), on(1, 1, { state: 'removed' }, { slot: 1, retiringSince: AFTER })],
      }),
      'hold',
    ],
    ['verify holds', facts({ ...done, asked: asked('verify') }), 'hold'],
    [
      'verify looks again',
      facts({ ...done, asked: asked('verify'), holders: [on(2, 2, { health: 'unhealthy' })] }),
      'wait',
    ],
    ['retire destroys the old version', facts({ ...done, asked: asked('retire') }), 'destroy 1'],
    ['retire looks again', facts({ ...done, asked: asked('retire'), holders: [on(1, 2)] }), 'wait'],
    ['retire of a first version', facts({ ...done, asked: asked('retire', { from: 0 }) }), 'hold'],
    ['abort of a stage', facts({ asked: asked('abort') }), 'destroy 2'],
    [
      'abort of a stage that came to nothing',
      facts({ asked: asked('abort'), progress: undefined, versions: { last: 1, current: 1 } }),
      'hold',
    ],
    [
      'abort does not destroy what a request may be writing',
      facts({ asked: asked('abort'), progress: undefined, isBeingWritten: true }),
      'wait',
    ],
    [
      'abort destroys its own version also when another is pending beside it',
      facts({ asked: asked('abort'), versions: { last: 3, current: 1, pending: 3 } }),
      'destroy 2',
    ],
    [
      'abort leaves another’s version alone',
      facts({ asked: asked('abort'), progress: undefined, versions: { last: 2, current: 2 } }),
      'hold',
    ],
    ['abort turns back', facts({ ...done, asked: asked('abort') }), 'turn 1'],
    [
      'abort raises again',
      facts({ ...done, asked: asked('abort'), versions: { last: 2, current: 1, pending: 2 } }),
      'raise web returned',
    ],
    [
      'abort keeps the new version while a container has it',
      facts({
        ...done,
        asked: asked('abort'),
        versions: { last: 2, current: 1, pending: 2 },
        progress: { ...raised, returned: { dep_web: 3 } },
      }),
      'wait',
    ],
    [
      'abort destroys it when none has',
      facts({
        ...done,
        asked: asked('abort'),
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
        turn: () => [step.kind === 'turn' && step.to],
        destroy: () => [step.kind === 'destroy' && step.version],
        raise: () => (step.kind === 'raise' ? [step.consumer.name, step.ledger] : []),
      }[step.kind]();
      expect([step.kind, ...words].join(' ')).to.equal(expected);
    });
  }

  it('names the replica that a rotation waits for, and why', () => {
    const step = decidePhaserStep(
      facts({ ...done, asked: asked('promote'), holders: [on(2, 2, { health: 'unhealthy' })] }),
    );
    expect(step.kind === 'wait' && step.for)
      .to.contain('0 of 1 replicas of web')
      .and.to.contain('replica 0 of web is unhealthy');
  });
});
