import { keys } from '../../crds/keys/index.js';
import { templateHash } from '../../crds/replica/index.js';
import type { Scheduling } from '../../crds/scheduling/index.js';
import { Fleets, type PlacementPolicy, workloadOf } from '../../pkg/fleet/index.js';
import type { Placed, Workload } from '../../pkg/placement/index.js';
import { again, done, type LoopEnv, type Next, type Reconcile } from '../../pkg/reconcile/index.js';
import { type Entry, value } from '../../pkg/store/index.js';
import { type DeploymentReading, isWaiting, namedBy, readDeployment, type SeenReplica } from '../reading/index.js';
import { type Assignment, complaint, placed, placements, type Subject, silence, turnOf } from './changes.js';
import { decideSaying, verdictOf } from './decide.js';
import { Explaining } from './explaining.js';

/** Replicas placed by one transaction: etcd bounds how much one may hold. */
const PLACED_AT_ONCE = 20;

/** How soon to look again when others are being placed on what this one was refused. */
const PLACEMENTS_UNDER_WAY_MS = 1_000;

/**
 * Gives every replica without a node a node, or says of each candidate why it could not serve.
 *
 * It never moves a replica that is placed, and never looks past the deployment's own tenant.
 */
export function schedule(policy: PlacementPolicy): Reconcile {
  const desk = new Desk(policy);
  return (key, env) => desk.reconcile(key, env);
}

/** What is kept from one reconcile to the next. Nothing of it is missed after a crash. */
class Desk {
  readonly #policy: PlacementPolicy;
  readonly #explaining = new Explaining();
  /** What takes back placements of which it is not known whether they were made, by the key of their deployment. */
  readonly #inDoubt = new Map<string, () => void>();
  #fleets: Fleets | undefined;

  constructor(policy: PlacementPolicy) {
    this.#policy = policy;
  }

  async reconcile(key: string, env: LoopEnv): Promise<Next> {
    // Whoever is asked again after a failure is asked when the cache shows what became of it.
    this.#inDoubt.get(key)?.();
    this.#inDoubt.delete(key);
    const named = namedBy(key);
    this.#fleets ??= new Fleets(env.cache);
    const fleet = await this.#fleets.of(named.tenant);
    const reading = readDeployment(named, env.cache, this.#policy.regions);
    const standing = env.cache.get(keys.scheduling(named.tenant, named.name));
    const waiting = waitingReplicas(reading);
    if (!reading.deployment || waiting.length === 0) {
      this.#explaining.forget(key);
      if (standing) await env.commit(silence(standing));
      return done; // deleted while it was queued, or everything has its node
    }

    const { deployment, same } = reading;
    const reader = { cache: env.cache, policy: this.#policy };
    const workload = workloadOf(deployment, named.tenant, reader, fleet.totals);
    const found = fleet.place(waiting.length, workload);
    const subject: Subject = { named, uid: deployment.metadata.uid, same };
    const isKnown = says(standing, subject.uid, found.unplaced);
    const wait = isKnown ? this.#explaining.waitFor(key, fleet.size, env.clock.monotonic()) : 0;
    const verdict = wait > 0 ? undefined : verdictOf(subject.uid, found, workload);
    await this.#assign(key, assignmentsOf(found, waiting, workload, env), subject, env);
    if (wait > 0) return again(wait, 'others are asking the same nodes why');

    const next = await say(verdict, standing, subject, env);
    if (found.unplaced === 0 || next.kind === 'again' || !this.#fleets.isAssuming(named.tenant)) return next;
    return again(PLACEMENTS_UNDER_WAY_MS, 'placements under way may come to nothing');
  }

  async #assign(key: string, assignments: readonly Assignment[], subject: Subject, env: LoopEnv): Promise<void> {
    const takeBack = this.#fleets!.assume(assignments.map(placed));
    try {
      await assign(assignments, subject, env);
    } catch (thrown) {
      // It may have been made all the same: it counts until that is certain.
      this.#inDoubt.set(key, takeBack);
      void env.cache.barrier().then(takeBack, takeBack);
      throw thrown;
    }
    takeBack();
  }
}

/** Whether it is known already that so many replicas of the deployment wait. */
function says(standing: Entry | undefined, uid: string, unplaced: number): boolean {
  const known = standing && value<Scheduling>(standing);
  return unplaced > 0 && known?.uid === uid && known.unplaced === unplaced;
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

function assignmentsOf(
  { nodes }: Placed,
  waiting: readonly SeenReplica[],
  { tenant, hostPorts }: Workload,
  { cache }: LoopEnv,
): readonly Assignment[] {
  return nodes.map((node, position) => {
    const assignment = { seen: waiting[position]!, node };
    return hostPorts.length === 0 ? assignment : { ...assignment, turn: turnOf(tenant, node.id, cache) };
  });
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
async function say(
  verdict: ReturnType<typeof verdictOf>,
  standing: Entry | undefined,
  subject: Subject,
  env: LoopEnv,
): Promise<Next> {
  if (!verdict) {
    if (standing) await env.commit(silence(standing));
    return done;
  }
  const saying = decideSaying(verdict, standing && value<Scheduling>(standing), env.clock.now());
  if (saying.kind === 'nothing') return done; // a node that says something else wakes it
  if (saying.kind === 'later') return again(saying.afterMs, 'the cause was counted up a moment ago');

  await env.commit(await complaint(saying, standing, subject, env));
  env.log.warn('replicas have no node', { ...fields(subject), count: verdict.unplaced, because: verdict.summary });
  return done;
}

function fields({ named }: Subject): { readonly tenant: string; readonly deployment: string } {
  return { tenant: named.tenant, deployment: named.name };
}
