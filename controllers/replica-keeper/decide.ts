import { getCanarySize, getRolloutBounds, isMovable, type StoredDeployment } from '../../crds/deployment/index.js';
import { isUpToDate } from '../../crds/replica/index.js';
import { isOfPresent, type ReplicaForm, toReplicaForm } from '../../crds/rollout/index.js';
import {
  countUnsettledMs,
  isAvailable,
  isLost,
  isServing,
  isWithoutContainer,
  type ObservedReplica,
} from '../reading/index.js';
import { isLeaving, listEmptySlots, planRollout, type RolloutPlanInput } from './plan-rollout.js';

/** Why a replica is retired whose node breaks the residency of its deployment. */
export const RESIDENCY_VIOLATED = 'residency_violated';

export interface ReplicaDecision {
  readonly steps: readonly SlotStep[];
  /** No replica of a deleted deployment is left: its own record can be deleted. */
  readonly finished: boolean;
  /** A rollout waits so long for a replica to have settled; nothing else would wake it then. */
  readonly settlesInMs?: number;
}

/** What a decision depends on beside the replicas themselves. */
export interface KeeperInput {
  /** Replicas that the scheduler reports no node for: a roll-out does not wait for them. */
  readonly refused?: number;
  /** Nothing keeps them from a node but host ports and replicas that stand there already. */
  readonly crowded?: boolean;
  /** A dependency of the deployment is not met. */
  readonly held?: boolean;
  /** How many replicas like the one that leaves next the nodes would take beyond those that wait already; negative when not even those. */
  readonly spare?: number;
  /** The uids of lost replicas that other nodes would take. */
  readonly replaceable?: ReadonlySet<string>;
  /** In milliseconds, and how long a container without a health check must run until a rollout counts on it. */
  readonly now?: number;
  readonly settleMs?: number;
  /** While a canary is held: what its old replicas are made from. */
  readonly baseline?: ReplicaForm;
  /** The hash of the template that was complete last. */
  readonly completed?: string;
}

/**
 * Decides the next steps for the replicas of one deployment.
 *
 * A slot is filled only when it is empty, and emptied only when its container is removed or its node is lost, so there are
 * never two containers of one slot on nodes with a live agent. Scaling down retires those that are not available, then the
 * highest slots. A changed template is rolled out within the bounds of the deployment (`planRollout`). A replica on a node that
 * breaks the residency is retired at once, unless it writes to a volume: that would lose more than it fixes. A draining node loses
 * one replica at a time, each when a replacement in another slot serves; while a template is rolled out, that empties it first.
 *
 * While a dependency is not met, the deployment does not start; once started it stays up, but no serving replica is
 * retired for a new one.
 */
export function decideReplicas(
  deployment: StoredDeployment | undefined,
  replicas: readonly ObservedReplica[],
  { refused = 0, crowded = false, held = false, spare = 0, now = 0, settleMs = 0, ...input }: KeeperInput = {},
): ReplicaDecision {
  const { baseline, completed, replaceable } = input;
  const wanted = deployment && !deployment.metadata.deletedAt ? deployment : undefined;
  const steps: SlotStep[] = [];
  const kept: ObservedReplica[] = [];
  for (const seen of replicas) {
    const unwanted = explainUnwanted(seen, wanted, replaceable?.has(seen.replica.uid) ?? false);
    if (unwanted === undefined) kept.push(seen);
    else if (isWithoutContainer(seen, deployment)) steps.push({ kind: 'clear', seen });
    else if (!seen.replica.retiringSince) steps.push({ kind: 'retire', seen, because: unwanted });
  }
  if (!wanted) return { steps, finished: deployment !== undefined && replicas.length === 0 };

  const settling = { now, settleMs };
  const isRolling =
    wanted.replicas > 0 && (baseline !== undefined || kept.some(({ replica }) => !isUpToDate(replica, wanted)));
  if (isRolling && !(held && kept.length === 0)) {
    const plan = planRollout({
      deployment: wanted,
      records: replicas,
      kept,
      refused,
      crowded,
      held,
      baseline,
      completed,
      ...settling,
    });
    const moves = plan.map(step => (step.kind === 'fill' ? step : stepOut(step.seen, 'template_changed', wanted)));
    const isHolding = baseline !== undefined || wanted.rollout?.paused === true;
    const isQuiet = moves.length === 0 && kept.length === replicas.length;
    const drain = isHolding && isQuiet ? planHeldDrain(wanted, kept, { spare, baseline, completed }) : [];
    const waits = kept.filter(isServing).map(seen => countUnsettledMs(seen, settling));
    const next = Math.min(...waits.filter(ms => ms > 0));
    return {
      steps: [...steps, ...moves, ...drain],
      finished: false,
      ...(Number.isFinite(next) && { settlesInMs: next }),
    };
  }
  return { steps: [...steps, ...keepCount(wanted, kept, replicas, { held, spare, ...settling })], finished: false };
}

/** Keeps the number of replicas, while all of them are made from the present template. */
function keepCount(
  wanted: StoredDeployment,
  kept: readonly ObservedReplica[],
  replicas: readonly ObservedReplica[],
  { held, spare, ...settling }: Required<Pick<KeeperInput, 'held' | 'spare' | 'now' | 'settleMs'>>,
): readonly SlotStep[] {
  const leavers = kept.filter(isLeaving);
  const rank = (seen: ObservedReplica) => Number(leavers.includes(seen)) + 2 * Number(!isAvailable(seen, settling));
  const ranked = [...kept].sort((a, b) => rank(a) - rank(b));
  const most = wanted.replicas + (leavers.length > 0 ? 1 : 0);
  const steps: SlotStep[] = ranked.slice(most).map(seen => stepOut(seen, 'scaled_down', wanted));

  const staying = ranked.slice(0, most);
  const taken = new Set(replicas.map(({ replica }) => replica.slot));
  // Those that retire still count: a replica that must not exist twice is not started beside them.
  const room = wanted.replicas + getRolloutBounds(wanted).surge - replicas.length;
  const missing = held && kept.length === 0 ? 0 : Math.min(room, wanted.replicas - staying.length);
  steps.push(
    ...listEmptySlots(wanted.replicas, taken)
      .slice(0, Math.max(0, missing))
      .map(slot => ({ kind: 'fill', slot }) as const),
  );
  if (staying.length < replicas.length) return steps;
  return [...steps, ...planDrain({ staying, wanted: wanted.replicas }, spare)];
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
  if (seen.isLeftBehind) return 'volume_promoted';
  if (seen.isGivingWay) return 'volume_moving';
  if (misplaced && isMovable(replica.template)) return RESIDENCY_VIOLATED;
  // A node without heartbeats may still run the container: it is given up only when another node can take the replica.
  if (isLost(seen, wanted) && (lost?.by === 'fence' || replaceable)) return 'node_lost';
  return undefined;
}

function stepOut(seen: ObservedReplica, because: string, deployment: StoredDeployment): SlotStep {
  return isWithoutContainer(seen, deployment) ? { kind: 'clear', seen } : { kind: 'retire', seen, because };
}

/** The next small step for one slot. */
export type SlotStep =
  /** Put a new replica into an empty slot, of the present template or made like another one. */
  | { readonly kind: 'fill'; readonly slot: number; readonly like?: ReplicaForm }
  /** Have the agent stop and remove the container of this replica. */
  | { readonly kind: 'retire'; readonly seen: ObservedReplica; readonly because: string }
  /** Delete the record of a replica that has no container, or none that counts: its slot is then empty. */
  | { readonly kind: 'clear'; readonly seen: ObservedReplica };

/** Which replica leaves its draining node next. */
export function chooseLeaver(leavers: readonly ObservedReplica[]): ObservedReplica | undefined {
  return leavers.find(seen => !isServing(seen)) ?? leavers[0];
}

/** Replicas among which one that leaves its node has its successor, and how many of them there are to be. */
interface DrainGroup {
  readonly staying: readonly ObservedReplica[];
  readonly wanted: number;
}

/** While a rollout is held: a canary and what it is compared with are each replaced by their like, and keep their number. */
function planHeldDrain(
  deployment: StoredDeployment,
  staying: readonly ObservedReplica[],
  { spare, baseline, completed }: Pick<RolloutPlanInput, 'baseline' | 'completed'> & { readonly spare: number },
): readonly SlotStep[] {
  const size = getCanarySize(deployment);
  const all = { staying, wanted: baseline ? size.next + size.old : deployment.replicas };
  const next = chooseLeaver(staying.filter(isLeaving));
  if (!next || !baseline || deployment.rollout?.paused === true) return planDrain(all, spare, { completed });
  const isNext = ({ replica }: ObservedReplica) => isOfPresent(replica, deployment, baseline);
  const group = staying.filter(seen => isNext(seen) === isNext(next));
  return planDrain(all, spare, {
    completed,
    group: { staying: group, wanted: isNext(next) ? size.next : size.old },
  });
}

/**
 * Moves one replica at a time off draining nodes.
 *
 * A replacement is created first, in the lowest empty slot, because a slot holds one replica. The leaving replica is
 * retired when enough others serve; one that does not serve, as soon as another node can take it. Where no node can, it
 * stays: a drain removes nothing that cannot run elsewhere.
 *
 * `all` are all replicas of the deployment, `group` those of the template of the next one that leaves, where each template keeps its
 * number, and `spare` is how many replicas like it the nodes would take beyond those that wait.
 */
function planDrain(
  all: DrainGroup,
  spare: number,
  { group = all, completed }: { readonly group?: DrainGroup; readonly completed?: string | undefined } = {},
): readonly SlotStep[] {
  const next = chooseLeaver(group.staying.filter(isLeaving));
  if (!next) return [];

  const isReplaced = group.staying.length > group.wanted;
  const waiting = group.staying.findLast(({ node }) => node === 'nowhere');
  if (isReplaced && waiting && spare < 0) return [{ kind: 'clear', seen: waiting }];

  const others = all.staying.filter(seen => seen !== next && isServing(seen)).length;
  const costsNothing = !isServing(next) && (isReplaced || spare > 0);
  if (others >= all.wanted || costsNothing) return [{ kind: 'retire', seen: next, because: 'node_draining' }];

  const [slot] = listEmptySlots(all.staying.length + 1, new Set(all.staying.map(({ replica }) => replica.slot)));
  const hasRoom = !isReplaced && all.staying.length <= all.wanted;
  // A replica of an older template is replaced by one of the same: a rollout that is paused goes no further by a drain.
  return hasRoom && spare > 0 && slot !== undefined
    ? [{ kind: 'fill', slot, like: toReplicaForm(next.replica, completed) }]
    : [];
}
