import type { StoredDeployment } from '../../crds/deployment/index.js';
import { templateHash } from '../../crds/replica/index.js';
import { isMovable, isServing, type ObservedReplica } from '../reading/index.js';

/** Why a replica is retired that is where its data may not be. */
export const RESIDENCY_VIOLATED = 'residency_violated';

export interface ReplicaDecision {
  readonly steps: readonly SlotStep[];
  /** Everything the deployment stood for is gone: its own record can go. */
  readonly finished: boolean;
}

/** What beside the replicas themselves a decision depends on. */
export interface KeeperInput {
  /** Replicas that have been told that no node will take them: nobody waits for those. */
  readonly refused?: number;
  /** What the deployment depends on does not hold. */
  readonly held?: boolean;
  /** How many replicas nodes would take beside those that wait already; negative when not even those. */
  readonly spare?: number;
}

/**
 * Says what is to be done next about the replicas of one deployment.
 *
 * A slot is filled only when it is empty, and emptied only when no container is left of it or what is on its node counts
 * as lost, so there are never two containers of one slot on nodes that are heard. Scaling down takes the highest slots. A
 * changed template replaces one serving replica after the other, and each only while all the others serve; replicas that do
 * not serve are replaced at once, because nothing is lost by it. A replica that is where its data may not be goes at once,
 * unless it writes to a volume: that would lose more than it mends. A node that is to be emptied is left by one replica at a
 * time, each when a replacement in another slot serves.
 *
 * While the deployment is held by what it depends on, it does not start; once started, it goes on, but no serving replica
 * is taken away for a new one.
 */
export function decideReplicas(
  deployment: StoredDeployment | undefined,
  replicas: readonly ObservedReplica[],
  { refused = 0, held = false, spare = 0 }: KeeperInput = {},
): ReplicaDecision {
  const wanted = deployment && !deployment.metadata.deletedAt ? deployment : undefined;
  const steps: SlotStep[] = [];
  const kept: ObservedReplica[] = [];
  let mayGiveUp = spare;
  for (const seen of replicas) {
    const unwanted = whyUnwanted(seen, wanted, mayGiveUp > 0);
    if (unwanted === 'node_lost') mayGiveUp -= 1;
    if (unwanted === undefined) kept.push(seen);
    else if (isWithoutContainer(seen, deployment)) steps.push({ kind: 'clear', seen });
    else if (!seen.replica.retiringSince) steps.push({ kind: 'retire', seen, because: unwanted });
  }
  if (!wanted) return { steps, finished: deployment !== undefined && replicas.length === 0 };

  const leaving = ({ draining }: ObservedReplica) => draining === true && isMovable(wanted);
  const ranked = [...kept.filter(seen => !leaving(seen)), ...kept.filter(leaving)];
  const most = wanted.replicas + (kept.some(leaving) ? 1 : 0);
  steps.push(...ranked.slice(most).map(seen => stepOut(seen, 'scaled_down', wanted)));

  const staying = ranked.slice(0, most);
  const taken = new Set(replicas.map(({ replica }) => replica.slot));
  const missing = held && kept.length === 0 ? 0 : wanted.replicas - staying.length;
  steps.push(
    ...listEmptySlots(wanted.replicas, taken)
      .slice(0, Math.max(0, missing))
      .map(slot => ({ kind: 'fill', slot }) as const),
  );

  const outdated = staying.filter(({ replica }) => replica.templateHash !== templateHash(wanted));
  if (outdated.length > 0) steps.push(...rollForward(outdated, staying, { refused, held, wanted }));
  else if (staying.length === replicas.length)
    steps.push(...planDrain(staying.filter(leaving), staying, wanted.replicas, spare));
  return { steps, finished: false };
}

/** Undefined when the replica may stay for now, be it outdated or not. */
function whyUnwanted(
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
  // What merely cannot be heard may still run: it is given up only for something better.
  if (isLost(seen, wanted) && (lost?.by === 'fence' || replaceable)) return 'node_lost';
  return undefined;
}

/**
 * Whether a replica may be taken for gone although its agent has not said so: its node is lost, and it writes to nothing
 * that a second one would write to as well, or it is certain that the machine is off.
 */
function isLost({ lost }: ObservedReplica, deployment: StoredDeployment | undefined): boolean {
  if (!lost) return false;
  return lost.by === 'fence' || (deployment !== undefined && isMovable(deployment));
}

/**
 * True when no container of the replica exists or will, or none that counts: it was never placed, its agent has said
 * that it removed the container, its node is no longer known, or it is lost.
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

/** Retires what a changed template has outdated, as far as that is allowed now; first what has to move anyway. */
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
  /** Have the container of this replica stopped and removed. */
  | { readonly kind: 'retire'; readonly seen: ObservedReplica; readonly because: string }
  /** Forget a replica that has no container, or none that counts, and leave its slot empty. */
  | { readonly kind: 'clear'; readonly seen: ObservedReplica };

/** The slots below `end` that nothing is in, the lowest first. */
export function listEmptySlots(end: number, taken: ReadonlySet<number>): readonly number[] {
  return Array.from({ length: end }, (_, slot) => slot).filter(slot => !taken.has(slot));
}

/**
 * Moves one replica at a time off nodes that are to be emptied.
 *
 * A replacement comes first, in the lowest empty slot: a slot holds one replica, so it cannot be the same one. When as many
 * serve without the one that leaves as are asked for, it goes. What does not serve goes at once, as soon as there is
 * another place. Where there is none, the replica stays where it is: a drain takes nothing away that cannot be had
 * elsewhere.
 *
 * `staying` are all replicas of the deployment, `leavers` those of them that are to move, `spare` how many more than those
 * that wait nodes would take.
 */
export function planDrain(
  leavers: readonly ObservedReplica[],
  staying: readonly ObservedReplica[],
  asked: number,
  spare: number,
): readonly SlotStep[] {
  const next = leavers.find(seen => !isServing(seen)) ?? leavers[0];
  if (!next) return [];

  const isReplaced = staying.length > asked;
  const waiting = staying.findLast(({ node }) => node === 'nowhere');
  if (isReplaced && waiting && spare < 0) return [{ kind: 'clear', seen: waiting }];

  const others = staying.filter(seen => seen !== next && isServing(seen)).length;
  const costsNothing = !isServing(next) && (isReplaced || spare > 0);
  if (others >= asked || costsNothing) return [{ kind: 'retire', seen: next, because: 'node_draining' }];

  const [slot] = listEmptySlots(staying.length + 1, new Set(staying.map(({ replica }) => replica.slot)));
  return !isReplaced && spare > 0 && slot !== undefined ? [{ kind: 'fill', slot }] : [];
}
