import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode, UsageFault } from '../exit-code.js';
import { deployments, findKind, networks } from '../kinds.js';
import type { Command, Session } from '../session.js';
import { startDeadline, type WaitOptions } from '../terminal.js';
import type { DeploymentView } from '../views.js';

interface DeleteInput extends WaitOptions {
  readonly kind: string;
  readonly name: string;
  readonly wait: boolean;
}

/** Deletes a network, or a deployment and, with `wait`, waits until its containers and its record are gone. */
export const deleteObject: Command<DeleteInput> = async (session, { kind, name, wait, ...options }) => {
  const { terminal, ink } = session;
  const { path, pathOf } = findKind(kind);
  if (path !== deployments.path && path !== networks.path) {
    throw new UsageFault(`a ${kind} cannot be deleted with this command.`);
  }
  const client = await session.connect();
  if (path === networks.path) {
    const deleted = await client.request('DELETE', pathOf(name));
    if (!deleted.ok) return session.reportRejection(deleted);
    terminal.out(`network/${name} ${ink.green('deleted')}\n`);
    return exitCode.ok;
  }
  const answer = await client.request<DeploymentView>('DELETE', `${deployments.path}/${encodeURIComponent(name)}`);
  if (!answer.ok) return session.reportRejection(answer);
  if (!wait) {
    terminal.out(`deployment/${name} ${ink.yellow('deleting')}\n`);
    return exitCode.ok;
  }
  const code = await untilGone(session, client, answer.value.metadata.uid, options);
  if (code === exitCode.ok) terminal.out(`deployment/${name} ${ink.green('deleted')}\n`);
  if (code === exitCode.timedOut) terminal.err(`deployment/${name} is still being deleted\n`);
  return code;
};

async function untilGone(session: Session, client: Client, uid: string, options: WaitOptions): Promise<ExitCode> {
  const deadline = startDeadline(session.terminal, options);
  let seen = false;
  try {
    for await (const change of client.watch<DeploymentView>(deployments.path, { signal: deadline.signal })) {
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
