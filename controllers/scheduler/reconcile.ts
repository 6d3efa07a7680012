import { keys } from '../../crds/keys/index.js';
import { templateHash } from '../../crds/replica/index.js';
import type { Scheduling } from '../../crds/scheduling/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { type Filter, filters as allFilters, type Placed, place } from '../../pkg/placement/index.js';
import { again, done, type LoopEnv, type Next, type Reconcile } from '../../pkg/reconcile/index.js';
import { type Cache, type Entry, value } from '../../pkg/store/index.js';
import { type DeploymentReading, isWaiting, namedBy, readDeployment, type SeenReplica } from '../reading/index.js';
import { Assumptions } from './assumptions.js';
import { candidatesFor } from './candidates.js';
import { type Assignment, complaint, placed, placements, type Subject, silence, turnOf } from './changes.js';
import { decideSaying, verdictOf } from './decide.js';
import { workloadOf } from './workload.js';

/** Replicas placed by one transaction: etcd bounds how much one may hold. */
const PLACED_AT_ONCE = 20;

/**
 * Gives every replica without a node a node, or says of each candidate why it could not serve.
 *
 * It never moves a replica that is placed, and never looks past the deployment's own tenant.
 */
export function schedule(filters: readonly Filter[] = allFilters): Reconcile {
  const assumptions = new Assumptions();

  return async (key, env) => {
    const named = namedBy(key);
    const reading = readDeployment(named, env.cache);
    const standing = env.cache.get(keys.scheduling(named.tenant, named.name));
    const waiting = waitingReplicas(reading);
    const [first] = waiting;
    if (!reading.deployment || !first) {
      if (standing) await env.commit(silence(standing));
      return done; // deleted while it was queued, or everything has its node
    }

    const { uid } = reading.deployment.metadata;
    const subject: Subject = { named, uid, same: reading.same };
    const candidates = candidatesFor({ tenant: named.tenant, deploymentUid: uid }, env.cache, assumptions);
    const workload = workloadOf(first.replica, isPlatform(named.tenant, env.cache));
    const found = place(waiting.length, candidates, workload, filters);

    const assignments = found.nodes.map((node, position): Assignment => {
      const assignment = { seen: waiting[position]!, node };
      if (workload.hostPorts.length === 0) return assignment;
      return { ...assignment, turn: turnOf(named.tenant, node.id, env.cache) };
    });
    const release = assumptions.assume(assignments.map(placed));
    try {
      await assign(assignments, subject, env);
    } finally {
      release();
    }
    return say(found, standing, subject, env);
  };
}

/**
 * Replicas that are to be placed now. All of them are made from the deployment's present template: the replica keeper
 * is about to replace the others.
 */
function waitingReplicas({ deployment, replicas }: DeploymentReading): readonly SeenReplica[] {
  if (!deployment || deployment.metadata.deletedAt) return [];
  const present = templateHash(deployment);
  const { uid } = deployment.metadata;
  return replicas.filter(
    ({ replica }) => isWaiting(replica) && replica.deploymentUid === uid && replica.templateHash === present,
  );
}

async function assign(assignments: readonly Assignment[], subject: Subject, env: LoopEnv): Promise<void> {
  for (let from = 0; from < assignments.length; from += PLACED_AT_ONCE) {
    const some = assignments.slice(from, from + PLACED_AT_ONCE);
    await env.commit(await placements(some, subject, env));
    for (const { seen, node } of some) {
      env.log.info('replica placed', { ...fields(subject), replica: seen.replica.uid, node: node.name });
    }
  }
}

/** Keeps the record of why replicas wait: made, renewed or taken back. */
async function say(found: Placed, standing: Entry | undefined, subject: Subject, env: LoopEnv): Promise<Next> {
  if (found.unplaced === 0) {
    if (standing) await env.commit(silence(standing));
    return done;
  }
  const verdict = verdictOf(subject.uid, found);
  const saying = decideSaying(verdict, standing && value<Scheduling>(standing), env.clock.now());
  if (saying.kind === 'nothing') return done; // a node that changes wakes every deployment of its tenant that waits
  if (saying.kind === 'later') return again(saying.afterMs, 'the cause was counted up a moment ago');

  await env.commit(await complaint(saying, standing, subject, env));
  env.log.warn('replicas have no node', { ...fields(subject), count: verdict.unplaced, because: verdict.summary });
  return done;
}

function fields({ named }: Subject): { readonly tenant: string; readonly deployment: string } {
  return { tenant: named.tenant, deployment: named.name };
}

function isPlatform(tenant: string, cache: Cache): boolean {
  const entry = cache.get(keys.tenant(tenant));
  return entry !== undefined && value<StoredTenant>(entry).platform;
}
