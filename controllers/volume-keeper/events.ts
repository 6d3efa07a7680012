import { formatBytes, formatCount } from '../../crds/grammar/index.js';
import type { StoredVolume, VolumeStatus } from '../../crds/volume/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { VolumeDecision } from './decide.js';
import { draftMoveEvents } from './move-events.js';

/** The events of the next status of a volume: each move, each promotion, and what was set aside. */
export function draftEvents(
  { id, name, sizeBytes, metadata }: StoredVolume,
  before: VolumeStatus | undefined,
  { status, promotion, isPassing = false }: Exclude<VolumeDecision, { readonly remove: string }>,
): readonly EventDraft[] {
  const about = { tenant: metadata.tenant, subject: { kind: 'Volume', name, id } } as const;
  const { phase, reason, message, primaryNode, divergent = [] } = status;
  const from = before?.phase ?? 'Pending';
  const drafts: EventDraft[] = [];
  // A deletion was announced by its request.
  if (phase !== from && phase !== 'Deleting' && !isPassing) {
    drafts.push({
      type: 'volume.phase_changed',
      ...about,
      reason,
      message: `volume ${name} is ${phase}: ${message}`,
      ...(reason !== 'volume_moving' && isBad(phase) && { severity: 'warning' as const }),
      data: { from, to: phase, ...(primaryNode !== undefined && { primaryNode }) },
    });
  }
  const { capacityBytes = sizeBytes, lastResize } = status;
  if (lastResize && lastResize !== before?.lastResize) {
    const { seconds } = lastResize;
    const took = seconds === undefined ? '' : `, after ${formatCount(seconds, 'second')}`;
    drafts.push({
      type: 'volume.resized',
      ...about,
      reason: 'volume_resized',
      message: `volume ${name} has ${formatBytes(capacityBytes)} now${took}`,
      data: {
        from: before?.resizeFrom ?? before?.capacityBytes ?? null,
        to: capacityBytes,
        asked: sizeBytes,
        bytes: lastResize.bytes,
        ...(seconds !== undefined && { seconds }),
      },
    });
  }
  drafts.push(...draftMoveEvents(about, before, status));
  if (promotion && promotion.planned === undefined) {
    const { from: former = null, to, epoch, syncedAt, secondsLost = null, secondsUnheard } = promotion;
    const missing =
      secondsLost === null
        ? `what was written since ${syncedAt} by the clock of the former primary is missing; for how long is unknown: its clock is ahead${secondsUnheard === undefined ? '' : ', or its node was only cut off'}`
        : `at most ${secondsLost} s of writes are missing, by the clock of the former primary`;
    const cutOff =
      secondsUnheard === undefined
        ? ''
        : `; if its node was only cut off, also what was written in the ${secondsUnheard} s after, which is set aside when it is back`;
    drafts.push({
      type: 'volume.promoted',
      ...about,
      severity: 'warning',
      reason: 'volume_promoted',
      message: `the copy of volume ${name} on ${to.name} takes the place of the lost one: ${missing}${cutOff}`,
      data: {
        from: former,
        to: to.id,
        epoch,
        syncedAt,
        secondsLost,
        ...(secondsUnheard !== undefined && { secondsUnheard }),
      },
    });
  }
  drafts.push(...draftCopyEvents(about, before, status));
  const known = new Set(before?.divergent?.map(each => `${each.nodeId} ${each.name}`));
  for (const { nodeId, name: kept, epoch, at } of divergent.filter(each => !known.has(`${each.nodeId} ${each.name}`))) {
    drafts.push({
      type: 'volume.divergent',
      ...about,
      severity: 'warning',
      reason: 'volume_divergent',
      message: `bytes of volume ${name} that its primary does not have were set aside on ${nodeId} as ${kept}`,
      data: { nodeId, name: kept, epoch, at },
    });
  }
  return drafts;
}

function isBad(phase: VolumeStatus['phase']): boolean {
  return phase === 'Degraded' || phase === 'Failed';
}

/** A copy that was given a node, and one whose node sends no heartbeats any more or is gone. Promotions have `volume.promoted`. */
function draftCopyEvents(
  about: Pick<EventDraft, 'tenant' | 'subject'>,
  before: VolumeStatus | undefined,
  { phase, primaryNode, copies, leaving = [] }: VolumeStatus,
): readonly EventDraft[] {
  if (!before || phase === 'Deleting') return [];
  const { name } = about.subject;
  const findIn = (all: VolumeStatus['copies'], id: string) => all.find(({ nodeId }) => nodeId === id);
  const isLost = ({ nodeId, state }: VolumeStatus['copies'][number]) => {
    const now = findIn(copies, nodeId);
    return state !== 'lost' && (now ? now.state === 'lost' : nodeId !== primaryNode && !leaving.includes(nodeId));
  };
  const added = copies.filter(({ nodeId }) => nodeId !== before.primaryNode && !findIn(before.copies, nodeId));
  return [
    ...added.map(
      ({ nodeId }): EventDraft => ({
        ...about,
        type: 'volume.replica_added',
        reason: 'volume_replica_added',
        message: `a copy of volume ${name} is made on ${nodeId}`,
        data: { nodeId },
      }),
    ),
    ...before.copies.filter(isLost).map(
      ({ nodeId, syncedAt = null }): EventDraft => ({
        ...about,
        type: 'volume.replica_lost',
        severity: 'warning',
        reason: 'volume_replica_lost',
        message: `the copy of volume ${name} on ${nodeId} is lost: its node sends no heartbeats, or is no longer enrolled`,
        data: { nodeId, syncedAt },
      }),
    ),
  ];
}
