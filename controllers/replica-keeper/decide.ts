import type { StoredDeployment } from '../../crds/deployment/index.js';
import { computeTemplateHash } from '../../crds/replica/index.js';
import { isMovable, isServing, type ObservedReplica } from '../reading/index.js';

/** Why a replica is retired whose node breaks the residency of its deployment. */
export const RESIDENCY_VIOLATED = 'residency_violated';

export interface ReplicaDecision {
  readonly steps: readonly SlotStep[];
  /** No replica of a deleted deployment is left: its own record can be deleted. */
  readonly finished: boolean;
}

/** What a decision depends on beside the replicas themselves. */
export interface KeeperInput {
  /** Replicas that the scheduler reports no node for: a roll-out does not wait for them. */
  readonly refused?: number;
  /** A dependency of the deployment is not met. */
  readonly held?: boolean;
  /** How many replicas the nodes would take beyond those that wait already; negative when not even those. */
  readonly spare?: number;
}

/**
 * Decides the next steps for the replicas of one deployment.
 *
 * A slot is filled only when it is empty, and emptied only when its container is removed or its node is lost, so there are
 * never two containers of one slot on nodes with a live agent. Scaling down retires the highest slots. A changed template
 * replaces one serving replica after the other, each only while all the others serve; replicas that do not serve are
 * replaced at once, because nothing is lost. A replica on a node that breaks the residency is retired at once, unless it
 * writes to a volume: that would lose more than it fixes. A draining node loses one replica at a time, each when a
 * replacement in another slot serves.
 *
 * While a dependency is not met, the deployment does not start; once started it stays up, but no serving replica is
 * retired for a new one.
 */
export function decideReplicas(
  deployment: StoredDeployment | undefined,
  replicas: readonly ObservedReplica[],
  { refused = 0, held = false, spare = 0 }: KeeperInput = {},
): ReplicaDecision {
  const wanted = deployment && !deployment.metadata.deletedAt ? deployment : undefined;
  const steps: SlotStep[] = [];
  const kept: ObservedReplica[] = [];
  let replaceable = spare;
  for (const seen of replicas) {
    const unwanted = explainUnwanted(seen, wanted, replaceable > 0);
    if (unwanted === 'node_lost') replaceable -= 1;
    if (unwanted === undefined) kept.push(seen);
    else if (isWithoutContainer(seen, deployment)) steps.push({ kind: 'clear', seen });
    else if (!seen.replica.retiringSince) steps.push({ kind: 'retire', seen, because: unwanted });
  }
  if (!wanted) return { steps, finished: deployment !== undefined && replicas.length === 0 };

  const isLeaving = ({ draining }: ObservedReplica) => draining === true && isMovable(wanted);
  const ranked = [...kept.filter(seen => !isLeaving(seen)), ...kept.filter(isLeaving)];
  const most = wanted.replicas + (kept.some(isLeaving) ? 1 : 0);
  steps.push(...ranked.slice(most).map(seen => stepOut(seen, 'scaled_down', wanted)));

  const staying = ranked.slice(0, most);
  const taken = new Set(replicas.map(({ replica }) => replica.slot));
  const missing = held && kept.length === 0 ? 0 : wanted.replicas - staying.length;
  steps.push(
    ...listEmptySlots(wanted.replicas, taken)
      .slice(0, Math.max(0, missing))
      .map(slot => ({ kind: 'fill', slot }) as const),
  );

  const outdated = staying.filter(({ replica }) => replica.templateHash !== computeTemplateHash(wanted));
  if (outdated.length > 0) steps.push(...rollForward(outdated, staying, { refused, held, wanted }));
  else if (staying.length === replicas.length)
    steps.push(...planDrain(staying.filter(isLeaving), staying, wanted.replicas, spare));
  return { steps, finished: false };
}

/** Why the replica has to go. Undefined when it may stay for now, outdated or not. */
function explainUnwanted(
  seen: ObservedReplica,
  wanted: StoredDeployment | undefined,
  replaceable: boolean,
): string | undefined {
  const { replica, node, misplaced, lost } = seen;
  if (replica.retiringSince) return 'retiring';
  if (!wanted) return 'deleted';
  if (replica.deploymentUid !== wanted.metadata.uid) return 'replaced_deployment';
  if (node === 'gone') return 'node_gone';
  if (misplaced && isMovable(wanted)) return RESIDENCY_VIOLATED;
  // A node without heartbeats may still run the container: it is given up only when another node can take the replica.
  if (isLost(seen, wanted) && (lost?.by === 'fence' || replaceable)) return 'node_lost';
  return undefined;
}

/**
 * Whether a replica counts as lost without a report of its agent: its node is lost, and either it writes to no volume that
 * a second container would write to as well, or an administrator has declared the machine off.
 */
function isLost({ lost }: ObservedReplica, deployment: StoredDeployment | undefined): boolean {
  if (!lost) return false;
  return lost.by === 'fence' || (deployment !== undefined && isMovable(deployment));
}

/**
 * Whether the replica has and will have no container, or none that counts: it was never placed, its agent has removed the
 * container, its node was removed, or it is lost.
 */
function isWithoutContainer(seen: ObservedReplica, deployment: StoredDeployment | undefined): boolean {
  const { replica, report, node } = seen;
  if (node === 'nowhere' || node === 'gone' || isLost(seen, deployment)) return true;
  return replica.retiringSince !== undefined && report?.state === 'removed';
}

function stepOut(seen: ObservedReplica, because: string, deployment: StoredDeployment): SlotStep {
  return isWithoutContainer(seen, deployment) ? { kind: 'clear', seen } : { kind: 'retire', seen, because };
}

interface Rolling extends Required<Pick<KeeperInput, 'refused' | 'held'>> {
  readonly wanted: StoredDeployment;
}

/** Retires replicas of an older template as far as allowed now, those on draining nodes first. */
function rollForward(
  outdated: readonly ObservedReplica[],
  staying: readonly ObservedReplica[],
  { refused, held, wanted }: Rolling,
): readonly SlotStep[] {
  const idle = outdated.filter(seen => !isServing(seen));
  if (idle.length > 0) return idle.map(seen => stepOut(seen, 'template_changed', wanted));

  const waiting = staying.filter(({ node }) => node === 'nowhere').length;
  const serving = staying.filter(isServing).length;
  const allServe = waiting <= refused && serving + waiting === staying.length && staying.length >= wanted.replicas;
  const next = outdated.find(({ draining }) => draining) ?? outdated[0];
  return next && allServe && !held ? [stepOut(next, 'template_changed', wanted)] : [];
}

/** The next small step for one slot. */
export type SlotStep =
  /** Put a new replica into an empty slot. */
  | { readonly kind: 'fill'; readonly slot: number }
  /** Have the agent stop and remove the container of this replica. */
  | { readonly kind: 'retire'; readonly seen: ObservedReplica; readonly because: string }
  /** Delete the record of a replica that has no container, or none that counts: its slot is then empty. */
  | { readonly kind: 'clear'; readonly seen: ObservedReplica };

/** The empty slots below `end`, the lowest first. */
function listEmptySlots(end: number, taken: ReadonlySet<number>): readonly number[] {
  return Array.from({ length: end }, (_, slot) => slot).filter(slot => !taken.has(slot));
}

/**
 * Moves one replica at a time off draining nodes.
 *
 * A replacement is created first, in the lowest empty slot, because a slot holds one replica. The leaving replica is
 * retired when enough others serve; one that does not serve, as soon as another node can take it. Where no node can, it
 * stays: a drain removes nothing that cannot run elsewhere.
 *
 * `staying` are all replicas of the deployment, `leavers` those on draining nodes, `wanted` is the number of replicas in
 * the spec, `spare` how many replicas the nodes would take beyond those that wait.
 */
function planDrain(
  leavers: readonly ObservedReplica[],
  staying: readonly ObservedReplica[],
  wanted: number,
  spare: number,
): readonly SlotStep[] {
  const next = leavers.find(seen => !isServing(seen)) ?? leavers[0];
  if (!next) return [];

  const isReplaced = staying.length > wanted;
  const waiting = staying.findLast(({ node }) => node === 'nowhere');
  if (isReplaced && waiting && spare < 0) return [{ kind: 'clear', seen: waiting }];

  const others = staying.filter(seen => seen !== next && isServing(seen)).length;
  const costsNothing = !isServing(next) && (isReplaced || spare > 0);
  if (others >= wanted || costsNothing) return [{ kind: 'retire', seen: next, because: 'node_draining' }];

  const [slot] = listEmptySlots(staying.length + 1, new Set(staying.map(({ replica }) => replica.slot)));
  return !isReplaced && spare > 0 && slot !== undefined ? [{ kind: 'fill', slot }] : [];
}
