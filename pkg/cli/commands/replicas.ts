import type { VolumeView } from '../../../crds/volume/index.js';
import { exitCode, type WaitOptions } from '../../terminal/index.js';
import { formatBar } from '../print/progress.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { followVolume, type VolumeStep } from './follow-volume.js';

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
  const { generation } = answer.value.metadata;
  const look = (volume: VolumeView) => findSynced(volume, generation, node, session);
  const code = await followVolume(session, client, answer.value, options, look);
  if (code === exitCode.timedOut) terminal.err(`the copy on ${node} is not complete yet; it is brought there\n`);
  return code;
};

/** Whether the copy on a node is complete, and how far it is. */
function findSynced(
  { metadata, replicas }: VolumeView,
  generation: number,
  node: string,
  { ink }: Session,
): VolumeStep {
  if (metadata.generation < generation) return undefined;
  const copy = replicas.find(({ nodeId, nodeName }) => nodeId === node || nodeName === node);
  if (copy?.state === 'synced') return { done: `${ink.green('synced')}: the copy on ${node} is complete` };
  const bar = formatBar(copy?.sentBytes, copy?.totalBytes);
  const words = [copy?.state ?? 'waits for its node', bar, stripControls(copy?.message ?? '')];
  return { progress: words.filter(word => word !== '').join(' ') };
}
