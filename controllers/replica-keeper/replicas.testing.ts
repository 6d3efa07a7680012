import type { StoredDeployment } from '../../crds/deployment/index.js';
import { computeTemplateHash, type Replica, toContainerTemplate } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { ObservedReplica } from '../reading/index.js';
import { decideReplicas } from './decide.js';

const AT = '2030-01-01T00:00:00.000Z';
const NOW = Date.parse(AT) + 60_000;
export const settling = { now: NOW, settleMs: 3_000 };
export const rollout = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '10m', autoRollback: true };

/** The deployment as it is wanted. */
export const wanting = (change: Partial<StoredDeployment> = {}): StoredDeployment => ({
  metadata: { tenant: 't1', uid: 'dep_1', generation: 2, createdAt: AT, updatedAt: AT, specHash: 'h' },
  kind: 'Deployment',
  name: 'web',
  image: 'web:2',
  replicas: 3,
  secretsVersion: 0,
  ...change,
});
/** The same with the template that it had before. */
export const old = wanting({ image: 'web:1' });

const makeReplica = (slot: number, of: StoredDeployment, change: Partial<Replica> = {}): Replica => ({
  uid: `r${slot}`,
  tenant: 't1',
  deployment: 'web',
  deploymentUid: 'dep_1',
  slot,
  generation: 1,
  templateHash: computeTemplateHash(of),
  template: toContainerTemplate(of),
  createdAt: AT,
  ...change,
});

/** How a replica is. */
export type ReplicaCase =
  | 'ready'
  | 'settling'
  | 'starting'
  | 'crash_loop'
  | 'exited'
  | 'unhealthy'
  | 'nowhere'
  | 'retiring'
  | 'removed'
  | 'draining';

const reports: Partial<Record<ReplicaCase, Partial<Report>>> = {
  ready: { since: AT },
  draining: { since: AT },
  settling: { since: new Date(NOW - 1_000).toISOString() },
  starting: { health: 'starting', since: AT },
  crash_loop: { state: 'exited', reason: 'crash_loop' },
  exited: { state: 'exited' },
  unhealthy: { health: 'unhealthy', since: AT },
  removed: { state: 'removed' },
};

/** A replica as the loop sees it. */
export const seen = (slot: number, how: ReplicaCase = 'ready', of: StoredDeployment = wanting()): ObservedReplica => {
  const isRetiring = how === 'retiring' || how === 'removed';
  const replica = makeReplica(slot, of, {
    ...(how !== 'nowhere' && { nodeId: 'node_1' }),
    ...(isRetiring && { retiringSince: AT }),
  });
  const { uid, deployment, templateHash } = replica;
  const common = { replica: uid, deployment, slot, nodeId: 'node_1', templateHash, restarts: 0, at: AT } as const;
  return {
    replica,
    revision: 5,
    node: how === 'nowhere' ? 'nowhere' : 'well',
    misplaced: false,
    ...(how === 'draining' && { draining: true }),
    report: how === 'nowhere' ? undefined : { ...common, state: 'running', health: 'none', ...reports[how] },
  };
};

/** What the loop decides, in short. */
export const steps = (deployment: StoredDeployment, replicas: readonly ObservedReplica[], change = {}): string[] =>
  decideReplicas(deployment, replicas, { ...settling, ...change }).steps.map(step => {
    if (step.kind !== 'fill') return `${step.kind} ${step.seen.replica.slot}`;
    return step.like && step.like.template.image !== deployment.image ? `copy ${step.slot}` : `fill ${step.slot}`;
  });

/** Replicas of the old template, from slot 0. */
export const olds = (...hows: readonly ReplicaCase[]) => hows.map((how, slot) => seen(slot, how, old));
