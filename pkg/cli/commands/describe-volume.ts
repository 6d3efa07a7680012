import { formatBytes, formatAge, formatSpan } from '../../../crds/grammar/index.js';
import type { VolumeView } from '../../../crds/volume/index.js';
import type { CellContext } from '../kinds.js';
import { type Fact, formatEvents, formatFacts, formatSection } from '../print/sections.js';
import { choosePaint } from '../print/text.js';
import type { DescribeEnv } from './describe-env.js';

/** A volume: where its bytes are, how far it is, who mounts it, and its events. */
export function describeVolume(view: VolumeView, { events, look }: DescribeEnv): string {
  const { metadata, phase, since, primaryNode, primaryNodeName, usedBytes, measuredAt, residency, consumers } = view;
  const { ink, now } = look;
  const { sizeBytes, capacityBytes } = view;
  const has = capacityBytes ?? sizeBytes;
  const used = usedBytes === null ? undefined : `${formatBytes(usedBytes)} of ${formatBytes(has)}`;
  const size = has === sizeBytes ? '' : `, and ${formatBytes(has)} on its node`;
  const measured = measuredAt === null ? '' : `, measured ${formatAge(measuredAt, now)} ago`;
  const facts: readonly Fact[] = [
    ['Name', view.name],
    ['Id', view.id],
    ['Phase', phase, choosePaint(ink, phase)],
    ['Message', view.message],
    ['Move', describeMove(view)],
    ['Since', since === null ? undefined : `${since} (${formatAge(since, now)} ago)`],
    ['Class', view.class],
    ['Type', view.type],
    ['Size', `${formatBytes(sizeBytes)}${size}`],
    ['Used', used && `${used}${measured}`],
    ['Node', primaryNodeName === null ? (primaryNode ?? undefined) : `${primaryNodeName} (${primaryNode})`],
    ['Driver', view.driver ?? undefined],
    ['Limits', view.limits ?? undefined],
    ['Failover', describeFailover(view)],
    ['Residency', residency && JSON.stringify(residency)],
    [
      'Set aside',
      view.divergent.map(({ nodeId, nodeName, name, at }) => `${name} on ${nodeName ?? nodeId} (${at})`).join(', '),
    ],
    ['Mounted by', consumers.map(each => `${each.deployment}${each.readOnly ? ' (reads)' : ' (writes)'}`).join(', ')],
    ['Created', `${metadata.createdAt} (${formatAge(metadata.createdAt, now)} ago)`],
  ];
  return formatFacts(facts, look) + formatCopies(view, look) + formatEvents(events, look);
}

const UNFENCED: Readonly<Record<string, string>> = {
  no_fencer: 'no fencer runs there: run the agent as root, or "moor fencer" as a unit',
  state_unwritable: 'its state folder cannot be written: make room in it, or repair its disk',
  agent_stopping: 'its agent was stopped by order: start it again',
};

/** What becomes of the volume when the machine of its primary is lost. */
function describeFailover({ failover, primaryNodeName }: VolumeView): string | undefined {
  if (!failover) return undefined;
  const { mode, writesStopAfterSeconds, because = '' } = failover;
  if (mode === 'automatic')
    return `automatic: ${writesStopAfterSeconds} s after the last heartbeat of ${primaryNodeName} nothing writes there, and a copy takes over`;
  if (mode === 'none') return 'none: no copy is complete';
  return `manual ("moor nodes fence ${primaryNodeName}"): nothing stops what writes on ${primaryNodeName} when it is lost, since ${UNFENCED[because] ?? because}`;
}

/** The move that is under way and what it waits for; else how the last one ended. */
function describeMove({ move, lastMove }: VolumeView): string | undefined {
  if (move?.phase === 'Blocked') return `Blocked: ${move.message}`;
  if (move) return `${move.phase}, to ${move.toName ?? move.to}: ${move.message}`;
  if (!lastMove) return undefined;
  const down = lastMove.downtimeSeconds === undefined ? '' : `; nothing could use it for ${lastMove.downtimeSeconds} s`;
  return `${lastMove.isAborted ? 'aborted' : 'ended'} ${lastMove.at}: ${lastMove.message}${down}`;
}

/** `1MiB, 12s`: what a copy lacks, and how old what it shows is. */
function describeLag(bytes: number | undefined, seconds: number | undefined): string {
  const parts = [
    bytes === undefined ? [] : formatBytes(bytes),
    seconds === undefined ? [] : formatSpan(seconds * 1000),
  ];
  return parts.flat().join(', ') || '-';
}

function formatCopies({ replicas }: VolumeView, { ink, now }: CellContext): string {
  const rows = replicas.map(
    ({ nodeName, nodeId, state, syncedAt, lagBytes, lagSeconds, sentBytes, totalBytes, message = '' }) => [
      nodeName ?? nodeId,
      state,
      syncedAt === undefined ? '-' : `${formatAge(syncedAt, now)} ago`,
      describeLag(lagBytes, lagSeconds),
      sentBytes === undefined || !totalBytes ? '' : `${Math.min(100, Math.floor((100 * sentBytes) / totalBytes))}%`,
      message,
    ],
  );
  return formatSection('Copies', ['NODE', 'STATE', 'SYNCED', 'BEHIND', 'PROGRESS', 'MESSAGE'], rows, ink.bold);
}
