import type { StoredDeployment } from '../../crds/deployment/index.js';
import { templateHash } from '../../crds/replica/index.js';
import { isMovable, isServing, type SeenReplica } from '../reading/index.js';

/** The next small step for one slot. */
export type SlotStep =
  /** Put a new replica into an empty slot. */
  | { readonly kind: 'fill'; readonly slot: number }
  /** Have the container of this replica stopped and removed. */
  | { readonly kind: 'retire'; readonly seen: SeenReplica; readonly because: string }
  /** Forget a replica that has no container, and leave its slot empty. */
  | { readonly kind: 'clear'; readonly seen: SeenReplica };

/** Why a replica is retired that is where its data may not be. */
export const RESIDENCY_VIOLATED = 'residency_violated';

export interface ReplicaDecision {
  readonly steps: readonly SlotStep[];
  /** Everything the deployment stood for is gone: its own record can go. */
  readonly finished: boolean;
}

/**
 * Says what is to be done next about the replicas of one deployment.
 *
 * A slot is filled only when it is empty, and emptied only when no container can be left of it, so there are never two
 * containers of one slot. Scaling down takes the highest slots. A changed template replaces one serving replica after
 * the other, and each only while all the others serve; replicas that do not serve are replaced at once, because nothing
 * is lost by it. `refused` replicas have been told that no node will take them: nobody waits for those. A replica that is
 * where its data may not be goes at once, unless it writes to a volume: that would lose more than it mends.
 *
 * While the deployment is `held` by what it depends on, it does not start; once started, it goes on, but no serving replica
 * is taken away for a new one.
 */
export function decideReplicas(
  deployment: StoredDeployment | undefined,
  replicas: readonly SeenReplica[],
  refused = 0,
  held = false,
): ReplicaDecision {
  const wanted = deployment && !deployment.metadata.deletedAt ? deployment : undefined;
  const slots = wanted?.replicas ?? 0;

  const steps: SlotStep[] = [];
  const kept: SeenReplica[] = [];
  for (const seen of replicas) {
    const unwanted = whyUnwanted(seen, wanted);
    if (unwanted === undefined) kept.push(seen);
    else if (isWithoutContainer(seen)) steps.push({ kind: 'clear', seen });
    else if (!seen.replica.retiringSince) steps.push({ kind: 'retire', seen, because: unwanted });
  }

  const taken = new Set(replicas.map(({ replica }) => replica.slot));
  const mayFill = !held || kept.length > 0;
  for (let slot = 0; slot < slots; slot++) if (mayFill && !taken.has(slot)) steps.push({ kind: 'fill', slot });

  if (wanted) steps.push(...rollForward(wanted, kept, refused, held));
  return { steps, finished: deployment !== undefined && !wanted && replicas.length === 0 };
}

/** Undefined when the replica may stay for now, be it outdated or not. */
function whyUnwanted(
  { replica, node, misplaced }: SeenReplica,
  wanted: StoredDeployment | undefined,
): string | undefined {
  if (replica.retiringSince) return 'retiring';
  if (!wanted) return 'deleted';
  if (replica.deploymentUid !== wanted.metadata.uid) return 'replaced_deployment';
  if (replica.slot >= wanted.replicas) return 'scaled_down';
  if (node === 'gone') return 'node_gone';
  if (misplaced && isMovable(wanted)) return RESIDENCY_VIOLATED;
  return undefined;
}

/**
 * True when it is certain that no container of the replica exists or will: it was never placed, its agent has said
 * that it removed the container, or its node is no longer known.
 */
function isWithoutContainer({ replica, report, node }: SeenReplica): boolean {
  if (node === 'nowhere' || node === 'gone') return true;
  return replica.retiringSince !== undefined && report?.state === 'removed';
}

/** Retires what a changed template has outdated, as far as that is allowed now. */
function rollForward(
  wanted: StoredDeployment,
  kept: readonly SeenReplica[],
  refused: number,
  held: boolean,
): readonly SlotStep[] {
  const current = templateHash(wanted);
  const outdated = kept.filter(({ replica }) => replica.templateHash !== current);
  const idle = outdated.filter(seen => !isServing(seen));
  if (idle.length > 0) return idle.map(seen => outdatedStep(seen));

  const [next] = outdated;
  const waiting = kept.filter(({ node }) => node === 'nowhere').length;
  const serving = kept.filter(isServing).length;
  const allServe = waiting <= refused && serving + waiting === wanted.replicas;
  return next && allServe && !held ? [outdatedStep(next)] : [];
}

function outdatedStep(seen: SeenReplica): SlotStep {
  return isWithoutContainer(seen) ? { kind: 'clear', seen } : { kind: 'retire', seen, because: 'template_changed' };
}
