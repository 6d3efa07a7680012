import type { Warning } from '../../../crds/rule/index.js';
import type { VolumeView } from '../../../crds/volume/index.js';
import { exitCode, UsageFault, type WaitOptions } from '../../terminal/index.js';
import { formatBar } from '../print/progress.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { printRemarks } from './apply.js';
import { followVolume, type VolumeStep } from './follow-volume.js';

interface WrittenVolume extends VolumeView {
  readonly warnings?: readonly Warning[];
}

interface MoveInput extends WaitOptions {
  readonly name: string;
  readonly to?: string;
  readonly cancel?: boolean;
  readonly wait: boolean;
  readonly dryRun?: boolean;
}

/** Moves the primary of a volume to another node, and says for how long nothing could use it. */
export const moveVolume: Command<MoveInput> = async (session, { name, to, cancel, wait, dryRun, ...options }) => {
  const { terminal, ink } = session;
  if ((to === undefined) === !cancel) throw new UsageFault('Name the node with --to, or end a move with --cancel.');
  const client = await session.connect();
  const path = `/api/v1/tenants/self/volumes/${encodeURIComponent(name)}/move`;
  const query = dryRun ? { dryRun: 'true' } : {};
  const answer = await client.request<WrittenVolume>(cancel ? 'DELETE' : 'POST', path, {
    ...(!cancel && { body: { node: to } }),
    query,
  });
  if (!answer.ok) return session.reportRejection(answer);
  const would = dryRun ? 'would ' : '';
  const done = cancel
    ? `${would}${dryRun ? 'stay' : 'stays'} where it is`
    : `${would}${dryRun ? 'move' : 'moves'} to ${to}`;
  terminal.out(`volume/${name} ${ink.yellow(done)}\n`);
  printRemarks(session, [], answer.value.warnings ?? []);
  if (cancel || dryRun || !wait) return exitCode.ok;
  const { generation } = answer.value.metadata;
  const look = (volume: VolumeView) => findMoved(volume, generation, session);
  const code = await followVolume(session, client, answer.value, options, look);
  if (code === exitCode.timedOut) terminal.err(`volume/${name} has not moved yet; the move continues\n`);
  return code;
};

/** How the move of this generation ended, or which phase it is in. */
function findMoved({ move, lastMove, replicas }: VolumeView, generation: number, { ink }: Session): VolumeStep {
  if (lastMove && (lastMove.generation ?? 0) >= generation) {
    const { isAborted, message, downtimeSeconds } = lastMove;
    const down = downtimeSeconds === undefined ? '' : `; nothing could use it for ${downtimeSeconds} s`;
    const words = `${stripControls(message)}${down}`;
    return isAborted ? { refused: `was not moved: ${words}` } : { done: `${ink.green('moved')}: ${words}` };
  }
  if (move?.generation !== generation) return undefined;
  const { sentBytes, totalBytes } = replicas.find(({ nodeId }) => nodeId === move.to) ?? {};
  const isSent = move.phase === 'Copying' || move.phase === 'Syncing';
  const bar = isSent ? formatBar(sentBytes, totalBytes) : '';
  return { progress: `${move.phase}: ${stripControls(move.message)}${bar === '' ? '' : ` ${bar}`}` };
}
