import { formatBytes, formatCount } from '../../crds/grammar/index.js';
import type { StoredVolume, VolumeStatus } from '../../crds/volume/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import type { Promotion } from './promote.js';

/** What is told of the next status of a volume: each move, each promotion, and what was set aside. */
export function draftEvents(
  { id, name, sizeBytes, metadata }: StoredVolume,
  before: VolumeStatus | undefined,
  { status, promotion }: { readonly status: VolumeStatus; readonly promotion?: Promotion },
): readonly EventDraft[] {
  const about = { tenant: metadata.tenant, subject: { kind: 'Volume', name, id } } as const;
  const { phase, reason, message, primaryNode, divergent = [] } = status;
  const from = before?.phase ?? 'Pending';
  const drafts: EventDraft[] = [];
  // Of a deletion the request itself has told.
  if (phase !== from && phase !== 'Deleting') {
    drafts.push({
      type: 'volume.phase_changed',
      ...about,
      reason,
      message: `volume ${name} is ${phase}: ${message}`,
      ...((phase === 'Degraded' || phase === 'Failed') && { severity: 'warning' as const }),
      data: { from, to: phase, ...(primaryNode !== undefined && { primaryNode }) },
    });
  }
  const { capacityBytes = sizeBytes, lastResize } = status;
  if (lastResize && lastResize !== before?.lastResize) {
    const took = formatCount(lastResize.seconds, 'second');
    drafts.push({
      type: 'volume.resized',
      ...about,
      reason: 'volume_resized',
      message: `volume ${name} has ${formatBytes(capacityBytes)} now, after ${took}`,
      data: { from: before?.capacityBytes ?? null, to: capacityBytes, asked: sizeBytes, ...lastResize },
    });
  }
  if (promotion) {
    const { from: former = null, to, epoch, syncedAt, secondsLost = null } = promotion;
    const missing =
      secondsLost === null
        ? `what was written since ${syncedAt} by the clock of the former primary is missing, and how long that is cannot be told: its clock is ahead`
        : `at most ${secondsLost} s of writes are missing, by the clock of the former primary`;
    drafts.push({
      type: 'volume.promoted',
      ...about,
      severity: 'warning',
      reason: 'volume_promoted',
      message: `the copy of volume ${name} on ${to.name} takes the place of the lost one: ${missing}`,
      data: { from: former, to: to.id, epoch, syncedAt, secondsLost },
    });
  }
  const known = new Set(before?.divergent?.map(each => `${each.nodeId} ${each.name}`));
  for (const { nodeId, name: kept, epoch, at } of divergent.filter(each => !known.has(`${each.nodeId} ${each.name}`))) {
    drafts.push({
      type: 'volume.divergent',
      ...about,
      severity: 'warning',
      reason: 'volume_divergent',
      message: `what only the former primary of volume ${name} had was set aside on ${nodeId} as ${kept}`,
      data: { nodeId, name: kept, epoch, at },
    });
  }
  return drafts;
}
