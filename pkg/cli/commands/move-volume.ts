import type { Warning } from '../../../crds/rule/index.js';
import type { VolumeView } from '../../../crds/volume/index.js';
import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode, UsageFault } from '../exit-code.js';
import { volumes } from '../kinds.js';
import { formatBar, startProgress } from '../print/progress.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { startDeadline, type WaitOptions } from '../terminal.js';
import { printRemarks } from './apply.js';

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
  const code = await untilMoved(session, client, answer.value, options);
  if (code === exitCode.timedOut) terminal.err(`volume/${name} has not moved yet; the move continues\n`);
  return code;
};

/** Follows a volume until the move of this generation has ended, and prints each phase as it passes. */
async function untilMoved(
  session: Session,
  client: Client,
  { id, name, metadata: { generation } }: VolumeView,
  options: WaitOptions,
): Promise<ExitCode> {
  const { terminal, ink } = session;
  const deadline = startDeadline(terminal, options);
  const progress = startProgress(terminal);
  try {
    for await (const change of client.watch<VolumeView>(volumes.path, { signal: deadline.signal })) {
      if (change.type === 'refused') return session.reportRejection(change.refusal);
      if (change.type === 'bookmark' || change.object.id !== id) continue;
      const { phase, move, lastMove, replicas } = change.object;
      if (change.type === 'deleted' || phase === 'Deleting') {
        progress.end();
        terminal.err(`volume/${name} is ${change.type === 'deleted' ? 'gone' : 'being deleted'}\n`);
        return exitCode.refused;
      }
      if ((lastMove?.generation ?? 0) >= generation) {
        progress.end();
        const { isAborted, message, downtimeSeconds } = lastMove!;
        const down = downtimeSeconds === undefined ? '' : `; nothing could use it for ${downtimeSeconds} s`;
        const words = `${stripControls(message)}${down}\n`;
        if (isAborted) terminal.err(`volume/${name} was not moved: ${words}`);
        else terminal.out(`volume/${name} ${ink.green('moved')}: ${words}`);
        return isAborted ? exitCode.refused : exitCode.ok;
      }
      if (move?.generation !== generation) continue;
      const { sentBytes, totalBytes } = replicas.find(({ nodeId }) => nodeId === move.to) ?? {};
      const isSent = move.phase === 'Copying' || move.phase === 'Syncing';
      const bar = isSent ? formatBar(sentBytes, totalBytes) : '';
      progress.show(`  ${move.phase}: ${stripControls(move.message)}${bar === '' ? '' : ` ${bar}`}`);
    }
    return deadline.passed ? exitCode.timedOut : exitCode.interrupted;
  } finally {
    progress.end();
    deadline.end();
  }
}
