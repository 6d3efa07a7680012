import { expect } from 'chai';
import fc from 'fast-check';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { toContainerTemplate, computeTemplateHash } from '../../crds/replica/index.js';
import type { ContainerState } from '../../crds/report/index.js';
import { isServing, type ObservedReplica, type ReplicaNodeState } from '../reading/index.js';
import { decideReplicas } from './decide.js';

const AT = '2030-01-01T00:00:00.000Z';

/** Without surge: what a rollout does with it is in `plan-rollout.test.ts`. */
const rollout = { maxSurge: 0, maxUnavailable: 1, progressDeadline: '10m', autoRollback: true };

const web = (change: Partial<StoredDeployment> = {}): StoredDeployment => ({
  metadata: { tenant: 't1', uid: 'dep_1', generation: 1, createdAt: AT, updatedAt: AT, specHash: 'h' },
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 3,
  secretsVersion: 0,
  rollout,
  ...change,
});

interface Sketch {
  readonly of?: StoredDeployment;
  readonly state?: ContainerState | 'unreported';
  readonly node?: ReplicaNodeState;
  readonly retiring?: boolean;
  readonly misplaced?: boolean;
}

/** One replica of the given slot: by default up to date, placed and serving. */
const seen = (
  slot: number,
  { of = web(), state = 'running', node = 'well', retiring, misplaced = false }: Sketch = {},
): ObservedReplica => ({
  misplaced,
  replica: {
    uid: `r${slot}`,
    tenant: 't1',
    deployment: of.name,
    deploymentUid: of.metadata.uid,
    slot,
    generation: 1,
    templateHash: computeTemplateHash(of),
    template: toContainerTemplate(of),
    createdAt: AT,
    ...(node !== 'nowhere' && { nodeId: 'node_1' }),
    ...(retiring && { retiringSince: AT }),
  },
  revision: 5,
  node,
  report:
    state === 'unreported' || node === 'nowhere'
      ? undefined
      : {
          replica: `r${slot}`,
          deployment: of.name,
          slot,
          nodeId: 'node_1',
          templateHash: computeTemplateHash(of),
          state,
          health: 'none',
          restarts: 0,
          at: AT,
        },
});

const steps = (
  deployment: StoredDeployment | undefined,
  replicas: readonly ObservedReplica[],
  refused?: number,
  held?: boolean,
): string[] =>
  decideReplicas(deployment, replicas, {
    ...(refused !== undefined && { refused }),
    ...(held !== undefined && { held }),
  }).steps.map(step => (step.kind === 'fill' ? `fill ${step.slot}` : `${step.kind} ${step.seen.replica.slot}`));

const volume = (readOnly: boolean) => ({
  volumeId: 'vol_1',
  type: 'volume' as const,
  mountPath: '/data',
  readOnly,
  subPath: '',
});
const old = web({ image: 'web:0' });
const deleted = web({ metadata: { ...web().metadata, deletedAt: AT } });
const recreated = web({ metadata: { ...web().metadata, uid: 'dep_0' } });

describe('replica keeper decides', () => {
  const cases: readonly {
    name: string;
    refused?: number;
    held?: boolean;
    deployment?: StoredDeployment | undefined;
    replicas: readonly ObservedReplica[];
    steps: readonly string[];
    finished?: boolean;
  }[] = [
    {
      name: 'to fill every slot of a new deployment',
      deployment: web(),
      replicas: [],
      steps: ['fill 0', 'fill 1', 'fill 2'],
    },
    {
      name: 'nothing when every replica is as wanted',
      deployment: web(),
      replicas: [seen(0), seen(1), seen(2)],
      steps: [],
    },
    { name: 'to fill the lowest empty slot', deployment: web(), replicas: [seen(0), seen(2)], steps: ['fill 1'] },
    {
      name: 'to retire the highest slots',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0), seen(1), seen(2)],
      steps: ['retire 1', 'retire 2'],
    },
    {
      name: 'to retire those first that do not serve, wherever they are',
      deployment: web({ replicas: 2 }),
      replicas: [seen(0, { state: 'creating' }), seen(1), seen(2), seen(3, { node: 'failed' })],
      steps: ['retire 0', 'retire 3'],
    },
    {
      name: 'to clear an unwanted replica that was never placed',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0), seen(1, { node: 'nowhere' })],
      steps: ['clear 1'],
    },
    {
      name: 'to wait for a retiring container',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0), seen(1, { retiring: true })],
      steps: [],
    },
    {
      name: 'to wait for a retiring replica without a report',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0), seen(1, { retiring: true, state: 'unreported' })],
      steps: [],
    },
    {
      name: 'to clear a retired replica whose container is removed',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0), seen(1, { retiring: true, state: 'removed' })],
      steps: ['clear 1'],
    },
    {
      name: 'to keep a wanted replica whose container was removed',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0, { state: 'removed' })],
      steps: [],
    },
    {
      name: 'to clear before it fills: a wanted slot that is retired stays empty for a step',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0, { retiring: true, state: 'removed' })],
      steps: ['clear 0'],
    },
    {
      name: 'not to fill a slot that is still retiring',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0, { retiring: true })],
      steps: [],
    },
    {
      name: 'to stop everything at replicas 0',
      deployment: web({ replicas: 0 }),
      replicas: [seen(0), seen(1)],
      steps: ['retire 0', 'retire 1'],
    },
    {
      name: 'to retire one outdated replica while all serve',
      deployment: web(),
      replicas: [seen(0, { of: old }), seen(1, { of: old }), seen(2, { of: old })],
      steps: ['retire 0'],
    },
    {
      name: 'not to retire a second outdated replica while the first is being replaced',
      deployment: web(),
      replicas: [seen(0, { of: old, retiring: true }), seen(1, { of: old }), seen(2, { of: old })],
      steps: [],
    },
    {
      name: '[2.3.3] not to continue a roll-out while the new replica does not serve yet',
      deployment: web(),
      replicas: [seen(0, { state: 'creating' }), seen(1, { of: old }), seen(2, { of: old })],
      steps: [],
    },
    {
      name: 'to continue a roll-out when the new replica serves',
      deployment: web(),
      replicas: [seen(0), seen(1, { of: old }), seen(2, { of: old })],
      steps: ['retire 1'],
    },
    {
      name: 'to retire outdated replicas that do not serve before one that does, as many as may be unavailable',
      deployment: web(),
      replicas: [seen(0, { of: old }), seen(1, { of: old, state: 'exited' }), seen(2, { of: old, node: 'failed' })],
      steps: ['retire 1'],
    },
    {
      name: 'to retire outdated replicas that fail by themselves, all at once',
      deployment: web(),
      replicas: [seen(0, { of: old }), seen(1, { of: old, state: 'failed' }), seen(2, { of: old, state: 'failed' })],
      steps: ['retire 1', 'retire 2'],
    },
    {
      name: 'to clear an outdated replica that was never placed',
      deployment: web(),
      replicas: [seen(0), seen(1), seen(2, { of: old, node: 'nowhere' })],
      steps: ['clear 2'],
    },
    {
      name: 'to scale up and wait with the roll-out',
      deployment: web(),
      replicas: [seen(0, { of: old }), seen(1, { of: old })],
      steps: ['fill 2'],
    },
    {
      name: 'not to continue a roll-out while a new replica waits for its node',
      deployment: web(),
      replicas: [seen(0, { node: 'nowhere' }), seen(1, { of: old }), seen(2, { of: old })],
      steps: [],
    },
    {
      name: 'to keep what serves while no node takes a replica of the new template',
      deployment: web(),
      replicas: [seen(0, { of: old }), seen(1, { of: old }), seen(2, { node: 'nowhere' })],
      refused: 1,
      steps: [],
    },
    {
      name: 'to wait for an unplaced replica that the scheduler has not reported',
      deployment: web(),
      replicas: [seen(0, { of: old }), seen(1, { node: 'nowhere' }), seen(2, { node: 'nowhere' })],
      refused: 1,
      steps: [],
    },
    {
      name: 'not to start while a dependency is not met',
      deployment: web(),
      replicas: [],
      held: true,
      steps: [],
    },
    {
      name: 'to replace lost replicas of a started deployment although a dependency is not met',
      deployment: web(),
      replicas: [seen(0)],
      held: true,
      steps: ['fill 1', 'fill 2'],
    },
    {
      name: 'not to retire a serving replica while a dependency is not met',
      deployment: web(),
      replicas: [seen(0, { of: old }), seen(1, { of: old }), seen(2, { of: old })],
      held: true,
      steps: [],
    },
    {
      name: 'to retire all replicas at once whose node breaks the residency',
      deployment: web(),
      replicas: [seen(0, { misplaced: true }), seen(1), seen(2, { misplaced: true })],
      steps: ['retire 0', 'retire 2'],
    },
    {
      name: 'to keep a replica that breaks the residency and writes to a volume',
      deployment: web({ volumes: [volume(false)] }),
      replicas: [0, 1, 2].map(slot => seen(slot, { of: web({ volumes: [volume(false)] }), misplaced: true })),
      steps: [],
    },
    {
      name: 'to retire a replica that breaks the residency and only reads from a volume',
      deployment: web({ replicas: 1, volumes: [volume(true)] }),
      replicas: [seen(0, { of: web({ volumes: [volume(true)] }), misplaced: true })],
      steps: ['retire 0'],
    },
    {
      name: 'to retire the replicas of an earlier deployment of the name',
      deployment: web(),
      replicas: [seen(0, { of: recreated }), seen(1)],
      steps: ['retire 0', 'fill 2'],
    },
    {
      name: 'to clear a replica whose node was removed',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0, { node: 'gone' })],
      steps: ['clear 0'],
    },
    {
      name: 'to clear a retiring replica whose node was removed',
      deployment: deleted,
      replicas: [seen(0, { retiring: true, node: 'gone' })],
      steps: ['clear 0'],
    },
    {
      name: 'to wait for the agent of a failed node',
      deployment: deleted,
      replicas: [seen(0, { retiring: true, node: 'failed' })],
      steps: [],
    },
    {
      name: 'to retire everything of a deployment that is deleted',
      deployment: deleted,
      replicas: [seen(0), seen(1)],
      steps: ['retire 0', 'retire 1'],
    },
    {
      name: 'to finish a deletion when no replica is left',
      deployment: deleted,
      replicas: [],
      steps: [],
      finished: true,
    },
    {
      name: 'not to finish a deployment that is not deleted',
      deployment: web({ replicas: 0 }),
      replicas: [],
      steps: [],
      finished: false,
    },
    {
      name: 'to retire replicas that have no deployment',
      deployment: undefined,
      replicas: [seen(0)],
      steps: ['retire 0'],
      finished: false,
    },
    {
      name: 'nothing without a deployment and replicas',
      deployment: undefined,
      replicas: [],
      steps: [],
      finished: false,
    },
  ];

  for (const given of cases) {
    it(given.name, () => {
      expect(steps(given.deployment, given.replicas, given.refused, given.held)).to.deep.equal(given.steps);
      expect(decideReplicas(given.deployment, given.replicas).finished).to.equal(given.finished ?? false);
    });
  }

  const anyReplica = fc.record({
    of: fc.constantFrom(web(), old, recreated),
    state: fc.constantFrom<ContainerState[]>('running', 'running', 'creating', 'exited', 'removed'),
    node: fc.constantFrom<ReplicaNodeState[]>('well', 'well', 'nowhere', 'failed', 'gone'),
    retiring: fc.boolean(),
  });

  it('property: at most one step for each slot, no serving replica retired for a template beyond the bounds, and only empty slots filled', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(anyReplica), { maxLength: 5 }),
        fc.nat(4),
        fc.constantFrom(web(), deleted),
        (sketches, replicas, base) => {
          const present = sketches.flatMap((sketch, slot) => (sketch ? [seen(slot, sketch)] : []));
          const decision = decideReplicas({ ...base, replicas }, present);
          const toSlot = (step: (typeof decision.steps)[number]) =>
            step.kind === 'fill' ? step.slot : step.seen.replica.slot;

          const touched = decision.steps.map(toSlot);
          expect(new Set(touched).size).to.equal(touched.length);
          for (const step of decision.steps) {
            if (step.kind === 'fill') expect(present.some(({ replica }) => replica.slot === step.slot)).to.equal(false);
            if (step.kind === 'retire') expect(step.seen.replica.retiringSince).to.equal(undefined);
          }
          const rolled = decision.steps.filter(step => step.kind === 'retire' && step.because === 'template_changed');
          const serving = rolled.filter(step => step.kind === 'retire' && isServing(step.seen)).length;
          const others = present.filter(({ replica }) => replica.deploymentUid === 'dep_1' && !replica.retiringSince);
          if (serving > 0) expect(others.filter(isServing).length - serving).to.be.at.least(Math.max(0, replicas - 1));
        },
      ),
      { numRuns: 500 },
    );
  });
});
