import { formatBytes } from '../../crds/grammar/index.js';
import type { EndedMove, VolumeMove, VolumeStatus } from '../../crds/volume/index.js';
import type { MountedVolume } from '../../pkg/fleet/index.js';
import {
  describeDelay,
  findReport,
  isSilent,
  listAhead,
  nextEpoch,
  formatAgentHint,
  type VolumeHost,
  type VolumeInput,
} from './input.js';
import { isOfEpoch, type Promotion, SET_BACK } from './promote.js';

/** How long nothing may use a volume before its move is aborted. */
const DOWN_MS = 300_000;
/** Nothing is stopped while a copy lacks more: over a slow link no more is sent within that time. */
const LAST_BYTES = 256 * 2 ** 20;
/** How long a copy may be made, or a job be waited for; an order that is older and was never begun is not begun any more. */
const PREPARED_MS = 86_400_000;
/** A drain tries again no sooner, and after a long stop so many times later: what mounts the volume is not to be down for most of the time. */
const RETRY_MS = 30_000;
const RETRY_FACTOR = 4;
const ELSEWHERE = 'another copy has taken over';
const GONE = 'it was cancelled, the drain was ended, or the volume is not ready any more';
const AHEAD = 'a node has seen a later epoch than the control plane knows of';

/** What is written of a move with the next status. */
export interface MoveStep extends Pick<VolumeStatus, 'finalFor' | 'move' | 'lastMove'> {
  /** Both ends have the last snapshot: the copy takes over. */
  readonly promotion?: Promotion;
}

/** Where the primary is to be from now on, or why it cannot leave a node that is drained. */
type Order = { readonly to: string; readonly generation?: number } | { readonly blocked: string };

/** The next step of the move of a volume, one at a time. It may be aborted until the copy takes over. */
export function decideMove(input: VolumeInput, primaryNode: string | undefined): MoveStep {
  const { volume, status } = input;
  const last = keepLast(status);
  if (!status || primaryNode === undefined || volume.metadata.deletedAt !== undefined) return last;
  const { move } = status;
  if (move?.phase === 'Switching') return follow(input, move, primaryNode);
  const order = findOrder(input, primaryNode);
  const isUnderWay = move !== undefined && move.phase !== 'Blocked';
  const isSame = isUnderWay && order && 'to' in order && order.to === move.to && order.generation === move.generation;
  if (isUnderWay && !isSame) return abort(input, move, primaryNode, GONE);
  if (!order) return last;
  if ('blocked' in order) {
    const since = move?.since ?? input.now;
    return { ...last, move: { phase: 'Blocked', message: order.blocked, since } };
  }
  const begun: VolumeMove = isSame
    ? move
    : { ...order, from: primaryNode, phase: 'Copying', message: '', since: input.now };
  return advance(input, begun, primaryNode);
}

/** What a user asked for; else, where the node is drained, the copy that shows the latest moment. */
function findOrder(input: VolumeInput, primaryNode: string): Order | undefined {
  const { volume, status, ages } = input;
  const { move: asked } = volume;
  const isOpen = asked !== undefined && asked.generation > (status?.lastMove?.generation ?? 0);
  const isBegun = asked !== undefined && status?.move?.generation === asked.generation;
  if (isOpen && (isBegun || ages.asked < PREPARED_MS)) return { to: asked.nodeId, generation: asked.generation };
  // A node that falls silent while it is drained has stopped all the same, and may have reported its last snapshot.
  const { stoppedAt, generation } = status?.move ?? {};
  const isStopped = stoppedAt !== undefined && generation === undefined;
  const left = input.findHost(primaryNode)?.status;
  const isDrained = left === 'draining' || (isStopped && left !== 'ready');
  return isDrained ? findDrainOrder(input, primaryNode) : undefined;
}

function findDrainOrder(input: VolumeInput, primaryNode: string): Order | undefined {
  const { volume, status, ages } = input;
  const { move, lastMove } = status!;
  const isServed = status!.phase === 'Ready' || move?.stoppedAt !== undefined;
  if (volume.type !== 'volume') return undefined;
  if (!isServed) return volume.class === 'replicated' ? explainUnserved(status!) : undefined;
  if (volume.class !== 'replicated') {
    const way = 'copy what it holds into a volume of class replicated, or delete it with what mounts it';
    return { blocked: `volumes of class ${volume.class} have no copies and stay on their node: ${way}` };
  }
  if (move?.to !== undefined && move.generation === undefined) return { to: move.to };
  const pauseMs = RETRY_MS + RETRY_FACTOR * 1000 * (lastMove?.downtimeSeconds ?? 0);
  if (lastMove?.isAborted && ages.aborted < pauseMs) return undefined;
  const synced = status!.copies.filter(({ nodeId, state }) => state === 'synced' && nodeId !== primaryNode);
  const able = synced.flatMap(({ nodeId, syncedAt = '' }) => {
    const host = input.findHost(nodeId);
    return host && host.status === 'ready' && !host.isOutside ? [{ host, syncedAt }] : [];
  });
  const free = able.filter(({ host }) => input.explainBound(host.id) === undefined);
  const together = free.filter(({ host }) => listLeft(input, host).length === 0);
  const rank = (id: string) => Number(lastMove?.isAborted === true && lastMove.to === id);
  const [best] = together.toSorted(
    (a, b) =>
      rank(a.host.id) - rank(b.host.id) ||
      Date.parse(b.syncedAt) - Date.parse(a.syncedAt) ||
      (a.host.id < b.host.id ? -1 : 1),
  );
  if (best) return { to: best.host.id };
  if (free[0]) return { blocked: explainLeft(input, free[0].host) };
  if (able[0]) return { blocked: input.explainBound(able[0].host.id) ?? '' };
  const add = `"moor volumes replicas add ${volume.name} <node>"`;
  return { blocked: `no copy is complete on a node that takes work: wait until one is, or ask for one more (${add})` };
}

/** A drain waits for it: a volume that is not served has nothing that could be sent. */
function explainUnserved({ phase, reason, message }: VolumeStatus): Order | undefined {
  if (reason === 'volume_ready') return undefined; // only a step on the way
  return { blocked: `it is ${phase}, and is moved when it is Ready: ${message}` };
}

/** What is mounted with the volume and neither is on a node nor will be: what mounts both would never start again. */
function listLeft(input: VolumeInput, { id }: VolumeHost): readonly MountedVolume[] {
  return input.listMountedWith().filter(({ primaryNode, movesTo, copiedTo }) => {
    if ((movesTo ?? primaryNode) === id) return false;
    const isLeaving = movesTo === undefined && input.findHost(primaryNode)?.status === 'draining';
    return !isLeaving || !copiedTo.includes(id);
  });
}

function explainLeft(input: VolumeInput, host: VolumeHost): string {
  const left = listLeft(input, host);
  const fixed = left.find(each => each.class !== 'replicated');
  const { name, class: kind } = fixed ?? left[0]!;
  const way = fixed
    ? `volumes of class ${kind} stay on their node; mount them apart, or delete ${name}`
    : `ask for a copy of it there ("moor volumes replicas add ${name} ${host.name}"), or move both by order ("moor volumes move")`;
  return `what mounts it mounts ${name} too, which cannot follow to ${host.name}: ${way}`;
}

function advance(input: VolumeInput, move: VolumeMove, primaryNode: string): MoveStep {
  const { status } = input;
  const to = move.to!;
  const last = keepLast(status);
  if (move.from !== primaryNode && to !== primaryNode) return abort(input, move, primaryNode, ELSEWHERE);
  if (to === primaryNode) return end(input, move, primaryNode, { message: 'its primary is there already' });
  const isDown = move.stoppedAt !== undefined;
  const target = input.findHost(to);
  const unable = explainTarget(input, target, to, isDown) ?? (listAhead(input).length > 0 ? AHEAD : undefined);
  if (unable !== undefined) return abort(input, move, primaryNode, unable);
  if (isDown) {
    const promotion = findSwitch(input, move, primaryNode, target!);
    const message = describeDelay(target!.name, 'taken over');
    if (promotion) return { ...last, move: { ...move, phase: 'Switching', message }, promotion };
  }
  const stuck = explainPrimary(input, primaryNode, isDown) ?? explainLate(move, input);
  if (stuck !== undefined) return abort(input, move, primaryNode, stuck);
  const next = isDown ? describeDown(input, move, primaryNode, target!) : prepare(input, move, primaryNode, target!);
  return { ...last, move: next, ...(next.epoch !== undefined && { finalFor: next.epoch }) };
}

/** While the volume is used as before. */
function prepare(input: VolumeInput, move: VolumeMove, primaryNode: string, target: VolumeHost): VolumeMove {
  const { status, now } = input;
  const copy = status!.copies.find(({ nodeId }) => nodeId === target.id);
  if (!copy) return { ...move, phase: 'Copying', message: `a copy is made on ${target.name}`, isCopyMade: true };
  if (copy.state !== 'synced')
    return { ...move, phase: 'Copying', message: `the copy on ${target.name} is not complete yet` };
  if (input.isSetBack) return { ...move, phase: 'Waiting', message: SET_BACK };
  const jobs = input.listJobs();
  if (jobs[0] !== undefined)
    return { ...move, phase: 'Waiting', message: `jobs that mount it run to their end first: ${jobs.join(', ')}` };
  const [own, there] = [findReport(input, primaryNode), findReport(input, target.id)];
  const isServed = status!.phase === 'Ready' && own?.state === 'ready' && isOfEpoch(own, status);
  const isHeld = there?.state === 'ready' && there.role === 'replica' && there.epoch === status!.epoch;
  const hosts = [input.findHost(primaryNode), target];
  if (!isServed || !isHeld || hosts.some(host => !host || isSilent(host) || host.status === 'unready'))
    return { ...move, phase: 'Waiting', message: 'the volume and its copy are not both ready' };
  const { lagBytes = 0, sentBytes = 0, totalBytes = 0 } = own?.copies?.find(({ nodeId }) => nodeId === target.id) ?? {};
  if (Math.max(lagBytes, totalBytes - sentBytes) > LAST_BYTES)
    return {
      ...move,
      phase: 'Waiting',
      message: `more than ${formatBytes(LAST_BYTES)} is still to be sent to ${target.name}: what mounts it is stopped when less is left; if it lasts, check --volume-bandwidth of the agents and the network between the nodes`,
    };
  const down = { ...move, epoch: nextEpoch(input), stoppedAt: now };
  return describeDown(input, down, primaryNode, target);
}

function describeDown(input: VolumeInput, move: VolumeMove, primaryNode: string, target: VolumeHost): VolumeMove {
  const isTaken = findReport(input, primaryNode)?.final?.epoch === move.epoch;
  if (isTaken) return { ...move, phase: 'Syncing', message: `the last changes are sent to ${target.name}` };
  const { name = primaryNode } = input.findHost(primaryNode) ?? {};
  const late = `if it lasts five minutes, the move is aborted: ${formatAgentHint(name)}`;
  return { ...move, phase: 'Stopping', message: `what mounts it is stopped on ${name}; ${late}` };
}

/** Why the node that it is to move to cannot take it. */
function explainTarget(input: VolumeInput, host: VolumeHost | undefined, to: string, isDown: boolean) {
  if (!host) return `${to} is no longer enrolled`;
  const { name, lost, isOutside, status } = host;
  if (lost) return `${name} is lost`;
  if (isOutside) return `${name} is outside its residency`;
  if (status === 'draining') return `${name} is drained`;
  if (input.volume.excludedNodes?.includes(to)) return `its copy on ${name} is to be removed`;
  const bound = input.explainBound(to);
  if (bound !== undefined) return bound;
  if (!isDown) return undefined;
  if (status !== 'ready') return `${name} is not ready`;
  if (!input.status!.copies.some(({ nodeId }) => nodeId === to)) return `it has no copy on ${name} any more`;
  const { state, message = 'it cannot hold it' } = findReport(input, to) ?? {};
  return state === 'failed' ? `${name} fails: ${message}` : undefined;
}

/** Why the primary cannot be moved away from its node. */
function explainPrimary(input: VolumeInput, primaryNode: string, isDown: boolean): string | undefined {
  const host = input.findHost(primaryNode);
  const { phase } = input.status!;
  if (!host) return 'the node of its primary is no longer enrolled';
  if (host.lost) return `${host.name}, which has its primary, is lost`;
  if (phase === 'Promoting' || phase === 'Failed') return ELSEWHERE;
  const { state, message = 'it cannot provide it' } = findReport(input, primaryNode) ?? {};
  return isDown && state === 'failed' ? `${host.name} fails: ${message}` : undefined;
}

function explainLate({ stoppedAt, message }: VolumeMove, { ages }: VolumeInput): string | undefined {
  if (stoppedAt !== undefined)
    return ages.stopped < DOWN_MS
      ? undefined
      : 'what mounts it was not stopped, or its last changes not sent, within five minutes';
  return ages.moving < PREPARED_MS
    ? undefined
    : `it could not begin within a day${message === '' ? '' : ` (${message})`}`;
}

/** The switch, once the primary and the copy have reported the same last snapshot: nothing was written after it. */
function findSwitch(
  { status, reports, isSetBack }: VolumeInput,
  { epoch, to, generation }: VolumeMove,
  primaryNode: string,
  target: VolumeHost,
): Promotion | undefined {
  const own = reports.find(({ nodeId }) => nodeId === primaryNode);
  const there = reports.find(({ nodeId }) => nodeId === to);
  const isOrdered = status!.phase === 'Degraded' && epoch !== undefined && status!.finalFor === epoch;
  if (!isOrdered || !own?.final || !there?.final) return undefined;
  const isSame =
    own.final.snapshot === there.final.snapshot && own.final.epoch === epoch && there.final.epoch === epoch;
  const isReported = own.role === 'primary' && isOfEpoch(own, status);
  const isThere = there.state === 'ready' && there.role === 'replica' && there.syncedEpoch === status!.epoch;
  if (!isSame || !isReported || !isThere || isSetBack) return undefined;
  const by = generation === undefined ? 'drain' : 'order';
  return { from: primaryNode, to: target, epoch, syncedAt: there.final.at, planned: by };
}

/** After the switch: until the agent of the node has taken over, or another copy has. */
function follow(input: VolumeInput, move: VolumeMove, primaryNode: string): MoveStep {
  const { status, ages } = input;
  const { to = '', epoch } = move;
  if (primaryNode !== to || status!.epoch !== epoch)
    return abort(input, move, primaryNode, `the copy on ${to} did not take over, and another one did`);
  const host = input.findHost(to);
  const own = findReport(input, to);
  const isReady = host && !isSilent(host) && own?.state === 'ready' && isOfEpoch(own, status);
  if (!isReady || listAhead(input).length > 0) return { ...keepLast(status), move };
  const downtimeSeconds = Math.ceil(ages.stopped / 1000);
  return end(input, move, move.from ?? to, { message: `it is on ${host.name}`, downtimeSeconds });
}

/** The primary is lost in the middle of it, and another copy takes over. */
export function abortMove(input: VolumeInput, primaryNode: string): MoveStep {
  const { move } = input.status ?? {};
  return move && move.phase !== 'Blocked' ? abort(input, move, primaryNode, ELSEWHERE) : keepLast(input.status);
}

function abort(input: VolumeInput, move: VolumeMove, from: string, message: string): MoveStep {
  const downtime = move.stoppedAt === undefined ? {} : { downtimeSeconds: Math.ceil(input.ages.stopped / 1000) };
  return end(input, move, from, { isAborted: true, message, ...downtime });
}

function end(
  { status, now }: VolumeInput,
  { to = '', generation, epoch }: VolumeMove,
  from: string,
  outcome: Pick<EndedMove, 'isAborted' | 'message' | 'downtimeSeconds'>,
): MoveStep {
  const before = status?.lastMove;
  const latest = Math.max(before?.generation ?? 0, generation ?? 0);
  const epochs = Math.max(before?.epoch ?? 0, epoch ?? 0);
  const known = { ...(latest > 0 && { generation: latest }), ...(epochs > 0 && { epoch: epochs }) };
  return { lastMove: { from, to, ...known, ...outcome, at: now } };
}

function keepLast(status: VolumeStatus | undefined): Pick<VolumeStatus, 'lastMove'> {
  return status?.lastMove ? { lastMove: status.lastMove } : {};
}
