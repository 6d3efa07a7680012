import { formatCount } from '../../../crds/grammar/index.js';
import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode, UsageFault } from '../exit-code.js';
import { deployments, findKind, jobs, networks, nodes, volumes } from '../kinds.js';
import { stripControls } from '../print/text.js';
import { type ProgressView, showProgress } from '../progress.js';
import type { Command, Session } from '../session.js';
import { startDeadline, type WaitOptions } from '../terminal.js';
import type { DeploymentView } from '../views.js';

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
 * Deletes a network or a node, or a deployment, a job or a volume and, with `wait`, waits until its containers or bytes and its record
 * are gone.
 */
export const deleteObject: Command<DeleteInput> = async (session, { kind: word, name, wait, force, ...options }) => {
  const { terminal, ink } = session;
  const { path, pathOf, names } = findKind(word);
  if (![deployments.path, jobs.path, networks.path, nodes.path, volumes.path].includes(path)) {
    throw new UsageFault(
      `"moor delete" does not delete ${names[1] ?? word}: "moor --help" lists the commands that do.`,
    );
  }
  if (force && path !== nodes.path)
    throw new UsageFault('--force is for nodes: it gives up the volumes that only they have.');
  const title = `${names[0]}/${name}`;
  const client = await session.connect();
  const answer = await client.request<ObjectView>('DELETE', pathOf(name), force ? { query: { force: 'true' } } : {});
  if (answer.ok && (path === networks.path || path === nodes.path)) {
    terminal.out(`${title} ${ink.green('deleted')}\n`);
    return exitCode.ok;
  }
  if (!answer.ok) return session.reportRejection(answer);
  if (!wait) {
    terminal.out(`${title} ${ink.yellow('deleting')}\n`);
    return exitCode.ok;
  }
  const code = await untilGone(session, client, { path, title, uid: answer.value.metadata.uid }, options);
  if (code === exitCode.ok) terminal.out(`${title} ${ink.green('deleted')}\n`);
  if (code === exitCode.timedOut) terminal.err(`${title} is still being deleted\n`);
  return code;
};

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
