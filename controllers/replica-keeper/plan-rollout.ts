import {
  getCanarySize,
  getRolloutBounds,
  isExclusive,
  isMovable,
  type RolloutBounds,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { isOfPresent, type ReplicaForm, toReplicaForm } from '../../crds/rollout/index.js';
import { isAvailable, type ObservedReplica, type SettleTime } from '../reading/index.js';

/** What a rollout does next with one replica. */
export type RolloutStep =
  /** Create a replica in an empty slot: of the present template, or a copy of an older one. */
  | { readonly kind: 'fill'; readonly slot: number; readonly like?: ReplicaForm }
  /** Take a replica away. */
  | { readonly kind: 'out'; readonly seen: ObservedReplica };

export interface RolloutPlanInput extends SettleTime {
  readonly deployment: StoredDeployment;
  /** Every replica record, those that are retiring included. */
  readonly records: readonly ObservedReplica[];
  /** Those of them that may stay, by slot. */
  readonly kept: readonly ObservedReplica[];
  /** Replicas that the scheduler reports no node for. */
  readonly refused: number;
  /** Nothing keeps them from a node but what stands there already: host ports, and replicas that exclude each other. */
  readonly crowded: boolean;
  /** Nothing that serves may be replaced now: a dependency is not met. */
  readonly held: boolean;
  /** While a canary is held: what its old replicas are made from. */
  readonly baseline?: ReplicaForm | undefined;
  /** The hash of the template that was complete last. */
  readonly completed?: string | undefined;
}

/**
 * The next steps of a rollout, while some replica is made from an older template.
 *
 * At every moment at most `replicas + maxSurge` replicas exist, and no available replica is taken away that would leave fewer
 * than `replicas - maxUnavailable` available. New replicas come first where a slot is free; old ones go as far as enough others
 * are available. Old replicas that do not serve may come back, and are kept by the same count, unless their program has failed:
 * of those nothing can be lost. While a canary is held, so many replicas are of the present template, and the rest is not replaced.
 */
export function planRollout(input: RolloutPlanInput): readonly RolloutStep[] {
  const { deployment, records, kept, held, baseline } = input;
  const { surge, unavailable } = getRolloutBounds(deployment);
  const next = kept.filter(({ replica }) => isOfPresent(replica, deployment, baseline));
  const older = kept.filter(seen => !next.includes(seen));
  // What is left of a canary that another one has superseded goes before what it is compared with.
  const isBase = ({ replica }: ObservedReplica) =>
    baseline !== undefined && toReplicaForm(replica, baseline.templateHash).templateHash === baseline.templateHash;
  const old = baseline ? [...older.filter(seen => !isBase(seen)), ...older.filter(isBase)] : older;
  const target = chooseTarget(input, next.length, old.length, surge);

  // With those that have no node, or fail by themselves, nothing is lost.
  const isKept = (seen: ObservedReplica) => target.isHolding && (deployment.rollout?.paused === true || isBase(seen));
  const gone = old.filter(seen => (seen.node === 'nowhere' || isBroken(seen)) && !isKept(seen));
  const room = Math.max(0, deployment.replicas + surge - records.length);
  const fills = planFills(input, { next, old, target, room });
  const rest = old.filter(seen => !gone.includes(seen));
  const excess = baseline ? [] : planExcess(input, next, deployment.replicas);
  const isStarting = fills.length > 0 && countUnplaceable(input) > 0;
  const leaving = held || isStarting ? [] : chooseLeaving(input, { next, rest, target, unavailable });
  return [...[...gone, ...excess, ...leaving].map(seen => ({ kind: 'out', seen }) as const), ...fills];
}

/** How many replicas of the present and of older templates there are to be now. */
interface RolloutTarget {
  readonly next: number;
  readonly old: number;
  /** The replicas of older templates are to stay for now. */
  readonly isHolding: boolean;
}

function chooseTarget(
  { deployment, baseline }: RolloutPlanInput,
  next: number,
  old: number,
  surge: number,
): RolloutTarget {
  const { replicas, rollout } = deployment;
  if (rollout?.paused !== true) {
    return baseline ? { ...getCanarySize(deployment), isHolding: true } : { next: replicas, old: 0, isHolding: false };
  }
  const stays = Math.min(next, replicas + surge);
  return { next: stays, old: Math.min(Math.max(old, replicas - stays), replicas + surge - stays), isHolding: true };
}

/** Whether the container fails by itself, as opposed to one that has just been interrupted. */
function isBroken({ report, node }: ObservedReplica): boolean {
  if (node !== 'well' || !report) return false;
  return report.state === 'failed' || report.reason === 'crash_loop';
}

/** Whether the replica is to leave its draining node: not when it writes to a volume, whatever the present template mounts. */
export function isLeaving({ draining, replica }: ObservedReplica): boolean {
  return draining === true && isMovable(replica.template);
}

/** Whether a replica that does not serve yet may still. */
function isComing(seen: ObservedReplica): boolean {
  return seen.draining !== true && !isBroken(seen) && seen.report?.health !== 'unhealthy';
}

interface RolloutSides {
  readonly next: readonly ObservedReplica[];
  readonly old: readonly ObservedReplica[];
  readonly target: RolloutTarget;
  readonly room: number;
}

/** New replicas for the lowest empty slots; where older ones are to stay, also copies of those that are missing. */
function planFills(
  { deployment, records, held, baseline, completed }: RolloutPlanInput,
  { next, old, target, room }: RolloutSides,
): readonly RolloutStep[] {
  const missingNext = Math.max(0, target.next - next.length);
  const missingOld = target.isHolding ? Math.max(0, target.old - old.length) : 0;
  // While a dependency is not met only what is missing is replaced.
  const most = held ? Math.min(room, Math.max(0, deployment.replicas - next.length - old.length)) : room;
  const slots = listEmptySlots(records.length + most, new Set(records.map(({ replica }) => replica.slot)));
  const like = baseline ?? (old[0] && toReplicaForm(old[0].replica, completed));
  const copies = like ? slots.slice(0, Math.min(missingOld, most, countCopies(like, records))) : [];
  const fresh = slots.slice(copies.length, Math.min(copies.length + missingNext, most));
  return [
    ...copies.map(slot => ({ kind: 'fill', slot, like: like! }) as const),
    ...fresh.map(slot => ({ kind: 'fill', slot }) as const),
  ];
}

/** How many copies of an older template may be made: what writes to a volume has none beside it, whatever the present one mounts. */
function countCopies({ template }: ReplicaForm, records: readonly ObservedReplica[]): number {
  if (isMovable(template)) return Infinity;
  return records.every(({ replica }) => isMovable(replica.template)) ? 1 : 0;
}

/** New replicas beyond the wanted number, after the number was lowered: those that are not available first, then the highest. */
function planExcess(
  input: RolloutPlanInput,
  next: readonly ObservedReplica[],
  wanted: number,
): readonly ObservedReplica[] {
  const ranked = [...next].sort((a, b) => Number(isAvailable(b, input)) - Number(isAvailable(a, input)));
  return ranked.slice(wanted);
}

interface LeavingSides extends Pick<RolloutBounds, 'unavailable'> {
  readonly next: readonly ObservedReplica[];
  /** Replicas of older templates that are not taken away already. */
  readonly rest: readonly ObservedReplica[];
  readonly target: RolloutTarget;
}

/** The replicas of older templates that may be taken away now. */
function chooseLeaving(
  input: RolloutPlanInput,
  { next, rest, target, unavailable }: LeavingSides,
): readonly ObservedReplica[] {
  const staying = [...next, ...rest];
  const available = staying.filter(seen => isAvailable(seen, input));
  const floor = countNeeded(input, unavailable);
  const idle = rest.filter(seen => !available.includes(seen));
  const serving = rest.filter(seen => available.includes(seen));
  // While older ones are to stay, one that leaves its node waits for its successor, which is one beyond their number.
  const isAwaited = target.isHolding && serving.some(isLeaving);
  const successor = isAwaited ? idle.findLast(isComing) : undefined;
  const surplus = rest.length - target.old - (successor ? 1 : 0);
  const nextUnavailable = next.filter(seen => !isAvailable(seen, input)).length;
  const spent = idle.filter(seen => seen !== successor);
  const idleOut = spent.slice(0, bound(staying.length - floor - nextUnavailable, surplus));
  // Those on draining nodes first: they have to go anyway.
  const ranked = [...serving.filter(({ draining }) => draining), ...serving.filter(({ draining }) => !draining)];
  const servingOut = ranked.slice(0, bound(available.length - floor, surplus - idleOut.length));
  if (!input.baseline) return [...idleOut, ...servingOut];
  const surplusNext = rankCanary(input, next).slice(target.next);
  const idleNext = surplusNext.filter(seen => !available.includes(seen));
  const spare = bound(available.length - servingOut.length - floor);
  const servingNext = surplusNext.filter(seen => available.includes(seen)).slice(0, spare);
  return [...idleOut, ...servingOut, ...idleNext, ...servingNext];
}

/** The replicas of a canary, those last that go when it is made smaller, or has one more while its node is drained. */
function rankCanary(input: RolloutPlanInput, next: readonly ObservedReplica[]): readonly ObservedReplica[] {
  const rank = (seen: ObservedReplica) => Number(seen.draining === true) * 2 + Number(!isAvailable(seen, input));
  return [...next].sort((a, b) => rank(a) - rank(b));
}

function bound(...limits: readonly number[]): number {
  return Math.max(0, Math.min(...limits));
}

/**
 * The number of replicas that must stay available. A place becomes free for a replica that excludes the others only when one of
 * them goes; then those that find no place at all do not count. For any other reason nothing is taken away: it would be in vain.
 */
function countNeeded(input: RolloutPlanInput, unavailable: number): number {
  const { deployment, kept, records } = input;
  const unplaceable = countUnplaceable(input);
  if (unplaceable === 0 || !makesRoom(input)) return Math.max(0, deployment.replicas - unavailable);
  const retiring = records.length - kept.length;
  const placed = Math.min(deployment.replicas, kept.length + retiring - unplaceable);
  return Math.max(0, placed - Math.max(1, unavailable));
}

/** Whether a replica finds a place where one of an older template goes. */
function makesRoom({ deployment, kept, crowded, baseline }: RolloutPlanInput): boolean {
  if (!crowded || !isExclusive(deployment)) return false;
  if (deployment.placement?.antiAffinity?.self === true) return true;
  const wanted = new Set((deployment.ports ?? []).map(({ hostPort }) => hostPort));
  const old = kept.filter(({ replica }) => !isOfPresent(replica, deployment, baseline));
  return old.some(({ replica }) =>
    (replica.template.ports ?? []).some(({ hostPort }) => hostPort !== undefined && wanted.has(hostPort)),
  );
}

function countUnplaceable({ kept, refused }: RolloutPlanInput): number {
  return Math.min(kept.filter(({ node }) => node === 'nowhere').length, refused);
}

/** The empty slots below `end`, the lowest first. */
export function listEmptySlots(end: number, taken: ReadonlySet<number>): readonly number[] {
  return Array.from({ length: end }, (_, slot) => slot).filter(slot => !taken.has(slot));
}
