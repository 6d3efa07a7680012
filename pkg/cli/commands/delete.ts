import { formatCount } from '../../../crds/grammar/index.js';
import type { Kind } from '../../../crds/kind/index.js';
import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode, UsageFault, startDeadline, type WaitOptions } from '../../terminal/index.js';
import { getBehaviour } from '../kind-behaviours.js';
import { findKind, joinPlurals, listDeletableKinds } from '../kinds.js';
import { stripControls } from '../print/text.js';
import { type ProgressView, showProgress } from '../progress.js';
import type { Command, Session } from '../session.js';
import type { DeploymentView } from '../../../crds/deployment/index.js';

/** What is read of an object that is being deleted: deployments have placements, volumes and jobs a message. */
interface ObjectView extends Pick<DeploymentView, 'metadata'> {
  readonly status?: {
    readonly message?: string;
    readonly placements?: readonly { readonly replica: number; readonly state: string }[];
  } | null;
  readonly message?: string;
}

interface DeleteInput extends WaitOptions {
  readonly kind: string;
  readonly name: string;
  readonly wait: boolean;
  /** Of a node: with the volumes that only it has. */
  readonly force?: boolean;
}

/**
 * Deletes an object of any kind that can be deleted. One that stays until its containers or bytes are gone is waited for
 * with `wait`.
 */
export const deleteObject: Command<DeleteInput> = async (session, { kind: word, name, wait, force, ...options }) => {
  const { terminal, ink } = session;
  const { path, pathOf, speaker, descriptor } = findKind(word, session.kinds);
  checkDeletion(session, descriptor, force ?? false);
  const { remove } = getBehaviour(descriptor);
  if (remove) return (await remove())(session, { name, ...options });

  const title = `${descriptor.singular}/${stripControls(name)}`;
  const client = await session.connect(speaker);
  const answer = await client.request<ObjectView>('DELETE', pathOf(name), force ? { query: { force: 'true' } } : {});
  if (!answer.ok) return session.reportRejection(answer);
  if (descriptor.isFinalized && !wait) {
    terminal.out(`${title} ${ink.yellow('deleting')}\n`);
    return exitCode.ok;
  }
  const code = descriptor.isFinalized
    ? await untilGone(session, client, { path, title, uid: answer.value.metadata.uid }, options)
    : exitCode.ok;
  if (code === exitCode.ok) terminal.out(`${title} ${ink.green('deleted')}\n`);
  if (code === exitCode.timedOut) terminal.err(`${title} is still being deleted\n`);
  return code;
};

/** Refuses what cannot be deleted, or not by force. */
function checkDeletion({ kinds }: Session, descriptor: Kind, force: boolean): void {
  const deletable = listDeletableKinds(kinds);
  if (!descriptor.operations.includes('delete')) {
    throw new UsageFault(
      `${descriptor.plural} cannot be deleted. The kinds that can be are ${joinPlurals(deletable)}.`,
    );
  }
  if (!force || getBehaviour(descriptor).gaveUpByForce !== undefined) return;
  const forced = deletable.flatMap(({ descriptor: each }) => {
    const { gaveUpByForce } = getBehaviour(each);
    return gaveUpByForce === undefined ? [] : [`--force is for ${each.plural}: it gives up ${gaveUpByForce}.`];
  });
  throw new UsageFault(forced.join(' '));
}

async function untilGone(
  session: Session,
  client: Client,
  { path, title, uid }: { readonly path: string; readonly title: string; readonly uid: string },
  options: WaitOptions,
): Promise<ExitCode> {
  const deadline = startDeadline(session.terminal, options);
  const over = new AbortController();
  const signal = AbortSignal.any([deadline.signal, over.signal]);
  let latest: ObjectView | undefined;
  const showing = showProgress(session, signal, () => latest && describeRest(title, latest));
  try {
    for await (const change of client.watch<ObjectView>(path, { signal })) {
      if (change.type === 'refused') return session.reportRejection(change.refusal);
      if (change.type === 'bookmark') {
        if (!latest) return exitCode.ok;
      } else if (change.object.metadata.uid === uid) {
        if (change.type === 'deleted') return exitCode.ok;
        latest = change.object;
      }
    }
    return deadline.passed ? exitCode.timedOut : exitCode.interrupted;
  } finally {
    over.abort();
    deadline.end();
    await showing;
  }
}

/** What is left of an object that is being deleted. */
function describeRest(title: string, { status, message }: ObjectView): ProgressView {
  const placements = status?.placements ?? [];
  const left = placements.length > 0 ? `, ${formatCount(placements.length, 'replica')} left` : '';
  const why = stripControls(status?.message ?? message ?? '');
  return {
    summary: `${title} is being deleted${left}${why === '' ? '' : `: ${why}`}`,
    parts: placements.map(({ replica, state }) => `replica ${replica}  ${stripControls(state)}`),
  };
}
