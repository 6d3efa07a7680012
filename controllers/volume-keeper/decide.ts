import { isDeepStrictEqual } from 'node:util';

import {
  isMadeVolume,
  listVolumeNodes,
  stepTowards,
  type VolumeReport,
  type VolumeStatus,
} from '../../crds/volume/index.js';
import { decideCopies, describeCopies } from './copies.js';
import {
  describeDelay,
  findPrimary,
  findReport,
  isMade,
  isOne,
  isSilent,
  listAhead,
  listKnownCopies,
  listNames,
  type VolumeHost,
  type VolumeInput,
} from './input.js';
import { decideMove, abortMove, type MoveStep } from './move.js';
import { describeFailover, explainTakeover, findPromotion, isGivenUp, isOfEpoch, type Promotion } from './promote.js';
import { followResize, judgeSize } from './size.js';

/** What to write: the next status, or that the record goes, with what became of the bytes. */
export type VolumeDecision =
  | {
      readonly status: VolumeStatus;
      readonly promotion?: Promotion;
      /** Its phase is only a step on the way to one that is worse. */
      readonly isPassing?: boolean;
    }
  | { readonly remove: string };

interface Verdict extends Pick<VolumeStatus, 'phase' | 'reason' | 'message' | 'refusedBy'> {
  readonly primaryNode?: string | undefined;
  readonly promotion?: Promotion;
}

/** The status that comes next, one move of the table at a time; the stored one itself when nothing has changed. */
export function decideVolume(input: VolumeInput): VolumeDecision {
  const { volume, status, now } = input;
  const primaryNode = findPrimary(input);
  const planned = decideMove(input, primaryNode);
  const verdict =
    volume.metadata.deletedAt === undefined ? judge(input, primaryNode, planned) : judgeDeletion(input, primaryNode);
  if ('remove' in verdict) return verdict;
  const from = status?.phase ?? (isMade(input) ? 'Degraded' : 'Pending');
  const own = findReport(input, verdict.primaryNode);
  const { promotion } = verdict;
  const isMove = promotion === undefined || promotion.planned !== undefined;
  const { promotion: _, ...moving } = isMove ? planned : abortMove(input, primaryNode ?? '');
  const { because, ...places } = decideCopies(input, verdict.primaryNode, {
    promotedTo: promotion?.epoch,
    move: promotion ? undefined : moving.move,
  });
  const isCopied = volume.class === 'replicated' && verdict.reason === 'volume_ready';
  const remark = isCopied
    ? describeCopies({ ...places, ...(because !== undefined && { because }) }, volume.replicas ?? 0)
    : '';
  const next: VolumeStatus = {
    id: volume.id,
    phase: stepTowards(from, verdict.phase),
    reason: verdict.reason,
    message: verdict.message + remark + describeMove(verdict, moving),
    ...(verdict.primaryNode !== undefined && { primaryNode: verdict.primaryNode }),
    ...places,
    ...moving,
    ...keepHistory(input, places.epoch, verdict.phase === 'Ready' || verdict.phase === 'Resizing'),
    ...(verdict.refusedBy && { refusedBy: verdict.refusedBy }),
    ...(volume.class === 'replicated' && own && { failover: describeFailover(own, places.copies) }),
    ...(own?.driver !== undefined && { driver: own.driver }),
    ...(own?.limits !== undefined && { limits: own.limits }),
    ...(own?.usedBytes !== undefined && { usedBytes: own.usedBytes, measuredAt: own.at }),
    ...(own?.capacityBytes !== undefined && { capacityBytes: own.capacityBytes }),
    ...(own?.targetBytes !== undefined && { targetBytes: own.targetBytes }),
    since: status?.since ?? now,
  };
  const followed = { ...next, ...followResize(status, next, now) };
  if (status && status.phase === next.phase && !promotion) {
    return { status: isDeepStrictEqual(status, followed) ? status : followed };
  }
  const isPassing = next.phase === 'Ready' && verdict.phase === 'Degraded';
  return { status: { ...followed, since: now }, isPassing, ...(promotion && { promotion }) };
}

/** Of a move while the volume is used as before: what it waits for. */
function describeMove({ reason }: Verdict, { move }: MoveStep): string {
  if (!move || reason !== 'volume_ready') return '';
  return move.phase === 'Blocked' ? `; it is not moved: ${move.message}` : `; it is to move: ${move.message}`;
}

/** What a replicated volume went through: the last epoch that was served, and what was set aside. */
function keepHistory({ status, reports }: VolumeInput, epoch: number | undefined, isReady: boolean) {
  if (epoch === undefined) return {};
  const servedEpoch = isReady ? epoch : status?.servedEpoch;
  const divergent = reports.flatMap(({ nodeId, divergent: own = [] }) => own.map(each => ({ nodeId, ...each })));
  return { ...(servedEpoch !== undefined && { servedEpoch }), ...(divergent.length > 0 && { divergent }) };
}

function judgeDeletion(input: VolumeInput, primaryNode: string | undefined): Verdict | { remove: string } {
  const { leaving } = input.status ?? {};
  const known = { copies: listKnownCopies(input), ...(primaryNode !== undefined && { primaryNode }) };
  const nodes = listVolumeNodes({ ...known, ...(leaving && { leaving }) });
  const left = nodes.filter(id => !input.findHost(id));
  const hosts = nodes.flatMap(id => input.findHost(id) ?? []);
  const waiting = hosts.filter(({ id }) => findReport(input, id)?.state !== 'removed');
  if (waiting.length === 0) return { remove: describeRemoval(input, hosts, left) };

  const silent = waiting.filter(isSilent);
  if (silent.length > 0) {
    const then = isBound(input) ? 'it is let go, with its files in it,' : 'they are removed';
    const what = isBound(input) ? 'its folder is' : 'its bytes are';
    const rest = isOne(silent)
      ? `which sends no heartbeats: ${then} when the node is back; delete the node if it never comes back`
      : `which send no heartbeats: ${then} when the nodes are back; delete the nodes that never come back`;
    const message = `${what} on ${listNames(silent)}, ${rest}`;
    return { phase: 'Deleting', reason: 'volume_node_silent', message, primaryNode };
  }
  const away = waiting.filter(({ id }) => findReport(input, id)?.isMissing === true);
  if (away.length > 0) {
    const message = `its bytes are on ${listNames(away)}, where the disk that holds them is not mounted: they are removed when it is mounted again; if it is gone for good, remove volume-disk.json from the state folder of the agent there`;
    return { phase: 'Deleting', reason: 'volume_disk_away', message, primaryNode };
  }
  const failures = waiting.flatMap(({ id }) => {
    const report = findReport(input, id);
    return report?.state === 'failed' && report.message !== undefined ? [report.message] : [];
  });
  if (failures[0] !== undefined) {
    return { phase: 'Deleting', reason: 'volume_refused', message: failures[0], primaryNode };
  }
  const names = listNames(waiting);
  const message = isBound(input)
    ? `its folder is being let go on ${names}`
    : `its bytes are being removed from ${names}`;
  return { phase: 'Deleting', reason: 'volume_deleting', message, primaryNode };
}

/** Its bytes are the operator's, and stay. */
const isBound = ({ volume }: VolumeInput) => volume.type === 'bind';

function describeRemoval(input: VolumeInput, hosts: readonly VolumeHost[], left: readonly string[]): string {
  if (hosts.length === 0 && left.length === 0) return 'it had no bytes yet';
  if (isBound(input))
    return `its folder on ${[...hosts.map(({ name }) => name), ...left].join(', ')} was left as it is`;
  const removed = hosts.length === 0 ? '' : `were removed from ${listNames(hosts)}`;
  const kept =
    left.length === 0 ? '' : `are left on ${left.join(', ')}, which ${isOne(left) ? 'is' : 'are'} no longer enrolled`;
  return `its bytes ${[removed, kept].filter(Boolean).join(', and ')}`;
}

function judge(input: VolumeInput, primaryNode: string | undefined, planned: MoveStep): Verdict {
  const { volume, status, findHost } = input;
  if (volume.class === 'object') {
    const message = 'this release keeps no bytes for volumes of class object, and mounts none';
    return { phase: 'Pending', reason: 'volume_class_not_wired', message };
  }
  const hasBytes = isMade(input);
  const host = primaryNode === undefined ? undefined : findHost(primaryNode);
  if (!host && !hasBytes) return place(input);
  if (primaryNode === undefined) {
    const found = findPromotion(input, undefined);
    if (found) return toPromoted(found);
    const way =
      volume.class === 'replicated' ? '; a complete copy takes over once all its nodes are back and report copies' : '';
    const message = `what was known of it is lost, and no agent says that it has the primary: restore a newer backup of the control plane${way}`;
    return { phase: 'Degraded', reason: 'volume_primary_unknown', message };
  }
  const ahead = listAhead(input);
  // Out of these phases no way leads back to Degraded.
  const takeover = status?.phase === 'Promoting' || status?.phase === 'Failed' ? status.phase : undefined;
  if (ahead[0]) {
    const message = `${listNames(ahead)} ${isOne(ahead) ? 'has' : 'have'} seen an epoch that the control plane does not know of, which was restored from an old backup: restore a newer one; deleting the nodes that are ahead gives up what only they have`;
    const phase = takeover ?? (hasBytes ? 'Degraded' : 'Materializing');
    const tried = takeover && status?.refusedBy;
    return { phase, reason: 'volume_epoch_behind', message, primaryNode, ...(tried && { refusedBy: tried }) };
  }
  const promotion = planned.promotion ?? findPromotion(input, primaryNode);
  if (promotion) return toPromoted(promotion);
  if (takeover === 'Promoting') return judgeTakeover(input, primaryNode, host);
  if (takeover === 'Failed') return toFailed(primaryNode);
  if (!host) {
    const isCopied = listKnownCopies(input).some(({ nodeId }) => findHost(nodeId));
    const rest = isCopied ? explainTakeover(input, primaryNode) : 'there is no other copy: delete the volume';
    const message = `the node that had its bytes is no longer enrolled, and ${rest}`;
    return { phase: 'Degraded', reason: 'volume_node_gone', message, primaryNode };
  }
  const { name } = host;
  const refusedBy = hasBytes ? undefined : status?.refusedBy;
  const unmade = { primaryNode, ...(refusedBy && { refusedBy }) };
  if (isSilent(host)) {
    const message = `its bytes are on ${name}, which sends no heartbeats: ${describeRemedy(input, host)}`;
    return { phase: hasBytes ? 'Degraded' : 'Materializing', reason: 'volume_node_silent', message, ...unmade };
  }
  const own = findReport(input, primaryNode);
  if (own?.state === 'ready' && isOfEpoch(own, status)) {
    if (planned.finalFor !== undefined) {
      const message = `it moves: ${planned.move?.message}`;
      return { phase: 'Degraded', reason: 'volume_moving', message, primaryNode };
    }
    const resizing = judgeSize(volume, own, name);
    if (resizing) return { ...resizing, primaryNode };
    return { phase: 'Ready', reason: 'volume_ready', message: `it is on ${name}`, primaryNode };
  }
  if (own?.state === 'failed') {
    const way = listKnownCopies(input).length > 0 ? TAKES_OVER : ', or delete the volume';
    const message = describeFailure(own, `its bytes are not on ${name} any more: ${MOUNT}${way}`);
    // A store that was restored from an old backup may take a volume for new that has bytes.
    const isKnown = hasBytes || own.isMissing === true || own.epoch !== undefined;
    const elsewhere = isKnown ? undefined : placeElsewhere(input, primaryNode);
    if (elsewhere) return elsewhere;
    return { phase: hasBytes ? 'Degraded' : 'Materializing', reason: 'volume_refused', message, ...unmade };
  }
  const message = describeDelay(name);
  return { phase: hasBytes ? 'Degraded' : 'Materializing', reason: 'volume_materializing', message, ...unmade };
}

/** What can be done about a primary whose node sends no heartbeats. */
function describeRemedy(input: VolumeInput, host: VolumeHost): string {
  const { volume, status } = input;
  const check = 'check the machine and its agent';
  if (volume.class !== 'replicated' || !isMadeVolume(status)) return check;
  if (!host.lost) return `${check}; a copy may take over when it does not come back`;
  const report = findReport(input, host.id);
  if (isGivenUp(host, report)) return `${check}; ${explainTakeover(input, host.id)}`;
  return report?.fencesAfterSeconds === undefined
    ? `a copy takes over when the machine is off for certain: "moor nodes fence ${host.name}"`
    : `${check}; a copy takes over once its agent has certainly stopped what writes`;
}

function toPromoted(promotion: Promotion): Verdict {
  const { to, refusedBy, planned } = promotion;
  const why = planned ? 'and nothing is missing' : 'which is lost';
  const message = `the copy on ${to.name} takes the place of the primary, ${why}`;
  const place = { primaryNode: to.id, promotion, ...(refusedBy && { refusedBy }) };
  return { phase: 'Promoting', reason: 'volume_promoting', message, ...place };
}

const MOUNT = 'mount the disk that holds them and restart the agent';
const TAKES_OVER = '; another copy that is complete takes over after a while';

/** Why an agent cannot provide the volume. What is to be done about missing bytes depends on the copies, which it does not know. */
function describeFailure({ isMissing, message }: VolumeReport, missing: string): string {
  return isMissing === true ? missing : (message ?? 'its agent cannot provide it');
}

const GONE = 'the node whose copy was to take over is no longer enrolled';

function toFailed(primaryNode: string): Verdict {
  const message = `${GONE}, and there is no other copy: enrol a machine again that has one, or delete the volume`;
  return { phase: 'Failed', reason: 'volume_node_gone', message, primaryNode };
}

/** While a copy takes over: only its own agent can say that it has. */
function judgeTakeover(input: VolumeInput, primaryNode: string, host: VolumeHost | undefined): Verdict {
  const { refusedBy } = input.status ?? {};
  const promoting = { phase: 'Promoting', primaryNode, ...(refusedBy && { refusedBy }) } as const;
  if (!host) {
    const isCopied = listKnownCopies(input).some(({ nodeId }) => input.findHost(nodeId));
    if (isCopied) {
      const message = `${GONE}, and ${explainTakeover(input, primaryNode)}`;
      return { ...promoting, reason: 'volume_node_gone', message };
    }
    return toFailed(primaryNode);
  }
  const { name } = host;
  if (isSilent(host)) {
    const message = `the copy on ${name} is to take over, and ${name} sends no heartbeats: check the machine and its agent${TAKES_OVER}`;
    return { ...promoting, reason: 'volume_node_silent', message };
  }
  const own = findReport(input, primaryNode);
  if (own?.state === 'ready' && isOfEpoch(own, input.status)) {
    return { phase: 'Ready', reason: 'volume_ready', message: `it is on ${name}`, primaryNode };
  }
  if (own?.state === 'failed') {
    const message = describeFailure(own, `the bytes of the copy are not on ${name} any more: ${MOUNT}${TAKES_OVER}`);
    return { ...promoting, reason: 'volume_refused', message };
  }
  return { ...promoting, reason: 'volume_promoting', message: describeDelay(name, 'taken over') };
}

/** Another node for a volume that its node could not make. Each is tried once; then the last one goes on trying. */
function placeElsewhere(input: VolumeInput, primaryNode: string): Verdict | undefined {
  const refusedBy = new Set([...(input.status?.refusedBy ?? []), primaryNode]);
  const choice = input.chooseNode(refusedBy);
  return 'node' in choice ? { ...toPlaced(choice.node), refusedBy: [...refusedBy] } : undefined;
}

function place({ chooseNode, status }: VolumeInput): Verdict {
  const choice = chooseNode(new Set(status?.refusedBy));
  if ('because' in choice) return { phase: 'Pending', reason: 'volume_waiting', message: choice.because };
  return toPlaced(choice.node);
}

function toPlaced({ id, name }: Pick<VolumeHost, 'id' | 'name'>): Verdict {
  return { phase: 'Materializing', reason: 'volume_materializing', message: describeDelay(name), primaryNode: id };
}
