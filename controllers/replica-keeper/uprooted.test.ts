import { expect } from 'chai';
import fc from 'fast-check';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { toContainerTemplate, computeTemplateHash } from '../../crds/replica/index.js';
import { isLost, isServing, type NodeLoss, type ObservedReplica } from '../reading/index.js';
import { type KeeperInput, decideReplicas } from './decide.js';

const AT = '2030-01-01T00:00:00.000Z';
const still = { key: 'node-status/t1/n1', at: 7 };

/** Without surge: what a rollout does with it is in `plan-rollout.test.ts`. */
const rollout = { maxSurge: 0, maxUnavailable: 1, progressDeadline: '10m', autoRollback: true };

const web = (change: Partial<StoredDeployment> = {}): StoredDeployment => ({
  metadata: { tenant: 't1', uid: 'dep_1', generation: 1, createdAt: AT, updatedAt: AT, specHash: 'h' },
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 2,
  secretsVersion: 0,
  rollout,
  ...change,
});
const writes = web({ volumes: [{ volumeId: 'vol_1', type: 'volume', mountPath: '/d', readOnly: false, subPath: '' }] });
const deleted = web({ metadata: { ...web().metadata, deletedAt: AT } });

type NodeCase =
  | 'well'
  | 'starting'
  | 'draining'
  | 'draining idle'
  | 'failed'
  | 'heartbeat_missed'
  | 'fence'
  | 'nowhere';

const seen = (slot: number, where: NodeCase, { of = web(), retiring = false } = {}): ObservedReplica => {
  const node =
    where === 'nowhere' ? 'nowhere' : ['failed', 'heartbeat_missed', 'fence'].includes(where) ? 'failed' : 'well';
  const runs = !['starting', 'draining idle', 'nowhere'].includes(where);
  return {
    replica: {
      uid: `r${slot}`,
      tenant: 't1',
      deployment: 'web',
      deploymentUid: 'dep_1',
      slot,
      generation: 1,
      templateHash: computeTemplateHash(of),
      template: toContainerTemplate(of),
      createdAt: AT,
      ...(node !== 'nowhere' && { nodeId: `node_${slot}` }),
      ...(retiring && { retiringSince: AT }),
    },
    revision: 5,
    node,
    misplaced: false,
    ...((where === 'heartbeat_missed' || where === 'fence') && { lost: { by: where, still } satisfies NodeLoss }),
    ...(where.startsWith('draining') && { draining: true }),
    report: runs
      ? {
          replica: `r${slot}`,
          deployment: 'web',
          slot,
          nodeId: `node_${slot}`,
          templateHash: computeTemplateHash(of),
          state: 'running',
          health: 'none',
          restarts: 0,
          at: AT,
        }
      : undefined,
  };
};

const decideSteps = (
  deployment: StoredDeployment,
  replicas: readonly ObservedReplica[],
  circumstances: KeeperInput = {},
) =>
  decideReplicas(deployment, replicas, circumstances).steps.map(step =>
    step.kind === 'fill' ? `fill ${step.slot}` : `${step.kind} ${step.seen.replica.slot}`,
  );

describe('replica keeper decides for lost and draining nodes', () => {
  const cases: readonly {
    name: string;
    deployment?: StoredDeployment;
    replicas: readonly ObservedReplica[];
    spare?: number;
    steps: readonly string[];
  }[] = [
    {
      name: 'to wait while a failed node may come back',
      replicas: [seen(0, 'failed'), seen(1, 'well')],
      spare: 1,
      steps: [],
    },
    {
      name: 'to clear a lost replica that another node can take',
      replicas: [seen(0, 'heartbeat_missed'), seen(1, 'well')],
      spare: 1,
      steps: ['clear 0'],
    },
    {
      name: 'to keep a lost replica that no other node can take',
      replicas: [seen(0, 'heartbeat_missed'), seen(1, 'well')],
      steps: [],
    },
    {
      name: 'to clear as many lost replicas as other nodes can take',
      replicas: [seen(0, 'heartbeat_missed'), seen(1, 'heartbeat_missed')],
      spare: 1,
      steps: ['clear 0'],
    },
    {
      name: 'to keep a lost replica that writes to a volume',
      deployment: writes,
      replicas: [seen(0, 'heartbeat_missed', { of: writes }), seen(1, 'well', { of: writes })],
      spare: 1,
      steps: [],
    },
    {
      name: 'to give up a lost replica whose volume was promoted elsewhere, whether or not another node can take it',
      deployment: { ...writes, replicas: 1 },
      replicas: [{ ...seen(0, 'heartbeat_missed', { of: writes }), isLeftBehind: true }],
      steps: ['clear 0'],
    },
    {
      name: 'to stop a replica whose volume was promoted elsewhere when its node is back',
      deployment: { ...writes, replicas: 1 },
      replicas: [{ ...seen(0, 'well', { of: writes }), isLeftBehind: true }],
      steps: ['retire 0'],
    },
    {
      name: 'to wait for a lost replica that writes to a volume which the new template has dropped',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0, 'heartbeat_missed', { of: writes })],
      spare: 1,
      steps: ['retire 0'],
    },
    {
      name: 'to wait for it also when it is retiring already',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0, 'heartbeat_missed', { of: writes, retiring: true })],
      spare: 1,
      steps: [],
    },
    {
      name: 'to clear a lost replica that writes to no volume yet',
      deployment: { ...writes, replicas: 1 },
      replicas: [seen(0, 'heartbeat_missed')],
      spare: 1,
      steps: ['clear 0'],
    },
    {
      name: 'to clear at once the replicas of a fenced node, even those that write to a volume',
      deployment: writes,
      replicas: [seen(0, 'fence', { of: writes }), seen(1, 'well', { of: writes })],
      steps: ['clear 0'],
    },
    {
      name: 'to clear a retiring replica on a lost node',
      replicas: [seen(0, 'heartbeat_missed', { retiring: true }), seen(1, 'well')],
      steps: ['clear 0'],
    },
    {
      name: 'to wait for a retiring replica on a lost node that writes to a volume',
      deployment: writes,
      replicas: [seen(0, 'heartbeat_missed', { of: writes, retiring: true }), seen(1, 'well', { of: writes })],
      steps: [],
    },
    {
      name: 'to end a deletion on a lost node',
      deployment: deleted,
      replicas: [seen(0, 'heartbeat_missed')],
      steps: ['clear 0'],
    },
    {
      name: 'to begin a drain with a replacement in the lowest empty slot',
      replicas: [seen(0, 'draining'), seen(1, 'well')],
      spare: 1,
      steps: ['fill 2'],
    },
    {
      name: 'to keep a replica on a draining node that no other node can take',
      replicas: [seen(0, 'draining'), seen(1, 'well')],
      steps: [],
    },
    {
      name: 'to wait for the replacement of a replica on a draining node',
      replicas: [seen(0, 'draining'), seen(1, 'well'), seen(2, 'starting')],
      spare: 1,
      steps: [],
    },
    {
      name: 'to retire a replica on a draining node whose replacement serves',
      replicas: [seen(0, 'draining'), seen(1, 'well'), seen(2, 'well')],
      steps: ['retire 0'],
    },
    {
      name: 'to drain one replica after the other',
      replicas: [seen(0, 'draining'), seen(1, 'draining'), seen(2, 'well')],
      spare: 1,
      steps: ['retire 0'],
    },
    {
      name: 'to wait until the previous replica of a drain is removed',
      replicas: [seen(0, 'draining', { retiring: true }), seen(1, 'draining'), seen(2, 'well')],
      spare: 1,
      steps: [],
    },
    {
      name: 'to continue a drain with the next replica',
      replicas: [seen(1, 'draining'), seen(2, 'well')],
      spare: 1,
      steps: ['fill 0'],
    },
    {
      name: 'nothing after a drain, whichever slots are filled',
      replicas: [seen(0, 'well'), seen(2, 'well')],
      spare: 1,
      steps: [],
    },
    {
      name: 'to retire at once a replica on a draining node that does not serve',
      replicas: [seen(0, 'draining idle'), seen(1, 'well')],
      spare: 1,
      steps: ['retire 0'],
    },
    {
      name: 'to clear a replacement that no node takes any more',
      replicas: [seen(0, 'draining'), seen(1, 'well'), seen(2, 'nowhere')],
      spare: -1,
      steps: ['clear 2'],
    },
    {
      name: 'to keep a replica on a draining node that writes to a volume',
      deployment: writes,
      replicas: [seen(0, 'draining', { of: writes }), seen(1, 'well', { of: writes })],
      spare: 1,
      steps: [],
    },
    {
      name: 'to scale down by the replicas on draining nodes',
      deployment: web({ replicas: 1 }),
      replicas: [seen(0, 'draining'), seen(1, 'well'), seen(2, 'well')],
      steps: ['retire 0'],
    },
    {
      name: 'to roll out a new template before a drain, beginning with the replicas on draining nodes',
      deployment: web({ image: 'web:2' }),
      replicas: [seen(0, 'well'), seen(1, 'draining')],
      spare: 1,
      steps: ['retire 1'],
    },
    {
      name: 'to remove the surplus replica when a drain is cancelled',
      replicas: [seen(0, 'well'), seen(1, 'well'), seen(2, 'well')],
      steps: ['retire 2'],
    },
  ];

  for (const { name, deployment = web(), replicas, spare = 0, steps } of cases) {
    it(name, () => {
      const lost = replicas.filter(each => isLost(each, deployment)).map(({ replica }) => replica.uid);
      const replaceable = new Set(lost.slice(0, Math.max(0, spare)));
      expect(decideSteps(deployment, replicas, { spare, replaceable })).to.deep.equal(steps);
    });
  }

  it('property: a drain that never lets fewer replicas serve than wanted, nor creates more than one surplus', () => {
    const anyWhere = fc.constantFrom<NodeCase[]>('well', 'well', 'draining', 'draining', 'starting', 'nowhere');
    fc.assert(
      fc.property(
        fc.array(anyWhere, { maxLength: 5 }),
        fc.nat(4),
        fc.integer({ min: -1, max: 2 }),
        (places, asked, spare) => {
          const replicas = places.map((where, slot) => seen(slot, where));
          const deployment = web({ replicas: asked });
          const { steps } = decideReplicas(deployment, replicas, { spare });
          const serving = replicas.filter(isServing).length;
          const moved = steps.filter(step => step.kind === 'retire' && step.because === 'node_draining');
          const taken = moved.filter(step => step.kind === 'retire' && isServing(step.seen)).length;
          const filled = steps.filter(({ kind }) => kind === 'fill').length;

          expect(serving - taken).to.be.at.least(Math.min(serving, asked));
          expect(replicas.length + filled).to.be.at.most(Math.max(asked + 1, replicas.length));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('property: a drain in a bounded number of steps once other nodes can take the replicas', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }), (asked, draining) => {
        let replicas = Array.from({ length: asked }, (_, slot) => seen(slot, slot < draining ? 'draining' : 'well'));
        const deployment = web({ replicas: asked });
        for (let round = 0; round < 6 * asked; round++) {
          const { steps } = decideReplicas(deployment, replicas, { spare: 1 });
          if (steps.length === 0) break;
          for (const step of steps) {
            // Everything that is asked for happens at once: containers start, and go.
            if (step.kind === 'fill') replicas.push(seen(step.slot, 'well'));
            else replicas = replicas.filter(each => each !== step.seen);
          }
          replicas.sort((a, b) => a.replica.slot - b.replica.slot);
          expect(replicas.filter(isServing).length).to.be.at.least(asked);
        }
        expect(replicas.some(each => each.draining)).to.equal(false);
        expect(replicas).to.have.length(asked);
      }),
    );
  });
});
