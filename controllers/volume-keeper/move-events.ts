import type { VolumeStatus } from '../../crds/volume/index.js';
import type { EventDraft } from '../../pkg/events/index.js';

/** The events of a move: that it begins, how it ended, and that a drain cannot have one. */
export function draftMoveEvents(
  about: Pick<EventDraft, 'tenant' | 'subject'>,
  before: VolumeStatus | undefined,
  { move, lastMove }: VolumeStatus,
): readonly EventDraft[] {
  const { name } = about.subject;
  const drafts: EventDraft[] = [];
  if (lastMove && lastMove.at !== before?.lastMove?.at) {
    const { from, to, isAborted, message, downtimeSeconds } = lastMove;
    const down = downtimeSeconds === undefined ? '' : `; nothing could use it for ${downtimeSeconds} s`;
    drafts.push({
      ...about,
      type: isAborted ? 'volume.move_aborted' : 'volume.moved',
      ...(isAborted && { severity: 'warning' as const }),
      reason: isAborted ? 'volume_move_aborted' : 'volume_moved',
      message: isAborted
        ? `volume ${name} does not move to ${to}: ${message}${down}`
        : `volume ${name} has moved: ${message}${down}`,
      data: { from, to, ...(downtimeSeconds !== undefined && { downtimeSeconds }) },
    });
  }
  const isNew = move && (move.since !== before?.move?.since || move.to !== before.move.to);
  if (move?.phase === 'Blocked' && move.message !== before?.move?.message) {
    drafts.push({
      ...about,
      type: 'volume.move_blocked',
      severity: 'warning',
      reason: 'volume_move_blocked',
      message: `the node of volume ${name} is drained, and the volume is not moved: ${move.message}`,
      data: {},
    });
  } else if (isNew && move.to !== undefined) {
    const { from = null, to, generation } = move;
    drafts.push({
      ...about,
      type: 'volume.move_started',
      reason: 'volume_move_started',
      message: `volume ${name} is to move to ${to}${generation === undefined ? ', because its node is drained' : ''}`,
      data: { from, to, by: generation === undefined ? 'drain' : 'order' },
    });
  }
  return drafts;
}
