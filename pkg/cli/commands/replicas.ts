import type { VolumeView } from '../../../crds/volume/index.js';
import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode } from '../exit-code.js';
import { volumes } from '../kinds.js';
import { formatBar, startProgress } from '../print/progress.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { startDeadline, type WaitOptions } from '../terminal.js';

interface ReplicasInput extends WaitOptions {
  readonly name: string;
  readonly node: string;
  readonly change: 'add' | 'remove';
  /** Of an addition: until the copy is complete. */
  readonly wait?: boolean;
  /** Of a removal: with what only this node has. */
  readonly force?: boolean;
}

/** Asks for one more copy of a volume on a node, or for the removal of the one there. */
export const changeReplicas: Command<ReplicasInput> = async (
  session,
  { name, node, change, wait, force, ...options },
) => {
  const { terminal, ink } = session;
  const client = await session.connect();
  const path = `/api/v1/tenants/self/volumes/${encodeURIComponent(name)}/replicas`;
  const query = force ? { query: { force: 'true' } } : {};
  const answer =
    change === 'add'
      ? await client.request<VolumeView>('POST', path, { body: { node_id: node } })
      : await client.request<VolumeView>('DELETE', `${path}/${encodeURIComponent(node)}`, query);
  if (!answer.ok) return session.reportRejection(answer);
  const done = change === 'add' ? `is copied to ${node}` : `loses its copy on ${node}`;
  const { wantedReplicas } = answer.value;
  const copies = `${wantedReplicas} ${wantedReplicas === 1 ? 'copy' : 'copies'}`;
  terminal.out(`volume/${answer.value.name} ${ink.green(done)}: ${copies} wanted\n`);
  if (!wait) return exitCode.ok;
  const code = await untilSynced(session, client, answer.value, node, options);
  if (code === exitCode.timedOut) terminal.err(`the copy on ${node} is not complete yet; it is brought there\n`);
  return code;
};

/** Follows a volume until its copy on a node is complete, and shows how far it is. */
async function untilSynced(
  session: Session,
  client: Client,
  { id, name, metadata: { generation } }: VolumeView,
  node: string,
  options: WaitOptions,
): Promise<ExitCode> {
  const { terminal, ink } = session;
  const deadline = startDeadline(terminal, options);
  const progress = startProgress(terminal);
  try {
    for await (const change of client.watch<VolumeView>(volumes.path, { signal: deadline.signal })) {
      if (change.type === 'refused') return session.reportRejection(change.refusal);
      if (change.type === 'bookmark' || change.object.id !== id) continue;
      const { metadata, phase, replicas } = change.object;
      if (change.type === 'deleted' || phase === 'Deleting') {
        progress.end();
        terminal.err(`volume/${name} is ${change.type === 'deleted' ? 'gone' : 'being deleted'}\n`);
        return exitCode.refused;
      }
      if (metadata.generation < generation) continue;
      const copy = replicas.find(({ nodeId, nodeName }) => nodeId === node || nodeName === node);
      if (copy?.state === 'synced') {
        progress.end();
        terminal.out(`volume/${name} ${ink.green('synced')}: the copy on ${node} is complete\n`);
        return exitCode.ok;
      }
      const bar = formatBar(copy?.sentBytes, copy?.totalBytes);
      const words = [copy?.state ?? 'waits for its node', bar, stripControls(copy?.message ?? '')];
      progress.show(`  ${words.filter(word => word !== '').join(' ')}`);
    }
    return deadline.passed ? exitCode.timedOut : exitCode.interrupted;
  } finally {
    progress.end();
    deadline.end();
  }
}
