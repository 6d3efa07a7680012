import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode, UsageFault } from '../exit-code.js';
import { deployments, findKind, jobs, networks, nodes, volumes } from '../kinds.js';
import type { Command, Session } from '../session.js';
import { startDeadline, type WaitOptions } from '../terminal.js';
import type { DeploymentView } from '../views.js';

type ObjectView = Pick<DeploymentView, 'metadata'>;

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
    throw new UsageFault(`a ${word} cannot be deleted with this command.`);
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
  const code = await untilGone(session, client, { path, uid: answer.value.metadata.uid }, options);
  if (code === exitCode.ok) terminal.out(`${title} ${ink.green('deleted')}\n`);
  if (code === exitCode.timedOut) terminal.err(`${title} is still being deleted\n`);
  return code;
};

async function untilGone(
  session: Session,
  client: Client,
  { path, uid }: { readonly path: string; readonly uid: string },
  options: WaitOptions,
): Promise<ExitCode> {
  const deadline = startDeadline(session.terminal, options);
  let seen = false;
  try {
    for await (const change of client.watch<ObjectView>(path, { signal: deadline.signal })) {
      if (change.type === 'refused') return session.reportRejection(change.refusal);
      if (change.type === 'bookmark') {
        if (!seen) return exitCode.ok;
      } else if (change.object.metadata.uid === uid) {
        if (change.type === 'deleted') return exitCode.ok;
        seen = true;
      }
    }
    return deadline.passed ? exitCode.timedOut : exitCode.interrupted;
  } finally {
    deadline.end();
  }
}
