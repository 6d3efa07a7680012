import type { VolumeView } from '../../crds/volume/view.js';
import type { Action } from './actions.js';
import { describeRecreated } from './manifest.js';
import type { NodeView } from './views.js';

/** What of a network or a backup its buttons need. */
interface NamedObject {
  readonly metadata?: { readonly revision?: string; readonly deletedAt?: string };
}

type Nodes = Iterable<Pick<NodeView, 'id' | 'name'>>;

/** A move that was asked for can be cancelled until its copy takes over; what nothing mounts can be deleted. */
export function listVolumeActions({ id, name, phase, move, consumers }: VolumeView): readonly Action[] {
  if (phase === 'Deleting') return [];
  const isOrdered = move?.generation !== undefined && move.phase !== 'Switching';
  const cancel: Action = {
    label: 'Cancel the move',
    method: 'DELETE',
    path: `/api/v1/tenants/self/volumes/${encodeURIComponent(id)}/move`,
    question: `Cancel the move of ${name}? It stays where it is, and is used there.`,
  };
  const remove: Action = {
    label: 'Delete',
    method: 'DELETE',
    path: `/api/v1/dvm/volumes/${encodeURIComponent(id)}`,
    question: `Delete ${name} with all of its bytes, on every node? There is no way back.`,
  };
  return [...(isOrdered ? [cancel] : []), ...(consumers.length === 0 ? [remove] : [])];
}

/** From where to where a volume moves, how far that is and what it waits for; how the last move ended; empty without either. */
export function describeMove({ move, lastMove, replicas }: VolumeView, nodes: Nodes): string {
  const names = new Map([...nodes].map(({ id, name }) => [id, name]));
  const nameOf = (id: string) => names.get(id) ?? id;
  const way = (from: string | undefined, to: string | undefined) =>
    `${from === undefined ? '' : ` from ${nameOf(from)}`}${to === undefined ? '' : ` to ${nameOf(to)}`}`;
  if (move) {
    const { phase, from, to, message } = move;
    const { sentBytes, totalBytes } = replicas.find(({ nodeId }) => nodeId === to) ?? {};
    const isSent = phase === 'Copying' && sentBytes !== undefined && totalBytes;
    const share = isSent ? ` (${Math.min(100, Math.floor((100 * sentBytes) / totalBytes))} %)` : '';
    return `${phase}${way(from, to)}${share}: ${message}`;
  }
  if (!lastMove) return '';
  const { from, to, isAborted, message, downtimeSeconds } = lastMove;
  const down = downtimeSeconds === undefined ? '' : `; nothing could use it for ${downtimeSeconds} s`;
  return `${isAborted ? 'not moved' : 'moved'}${way(from, to)}: ${message}${down}`;
}

export function listNetworkActions({ name, metadata }: NamedObject & { readonly name: string }): readonly Action[] {
  return [
    {
      label: 'Delete',
      method: 'DELETE',
      path: `/api/v1/networks/${encodeURIComponent(name)}`,
      question: `Delete ${name}? Refused while something joins it.`,
      ...(metadata?.revision !== undefined && { revision: metadata.revision }),
    },
  ];
}

/** The way back to a backup, with what it would change, and the end of it. */
export function listBackupActions(
  { id, deploymentName }: { readonly id: string; readonly deploymentName: string },
  nodes: Nodes,
): readonly Action[] {
  const path = `/api/v1/backups/${encodeURIComponent(id)}`;
  return [
    {
      label: 'Restore',
      method: 'POST',
      path: `${path}/restore`,
      describePreview: answer => describeRestore(deploymentName, answer as RestorePreview, nodes),
    },
    {
      label: 'Delete',
      method: 'DELETE',
      path,
      question: `Delete this backup of ${deploymentName}? The deployment stays as it is; the backup is gone.`,
    },
  ];
}

interface RestorePreview {
  readonly change: string;
  readonly diff: readonly { readonly path: string }[];
  readonly recreated?: Parameters<typeof describeRecreated>[0];
}

function describeRestore(name: string, { change, diff, recreated = [] }: RestorePreview, nodes: Nodes): string {
  if (change === 'create') return `Restore ${name}? There is no deployment of this name: it is created again.`;
  if (change === 'none') return `Restore ${name}? It is as the backup says: nothing changes.`;
  const fields = [...new Set(diff.map(({ path }) => path.split('/')[1]))].join(', ');
  return `Restore ${name}? Changed: ${fields}. ${describeRecreated(recreated, nodes)}`;
}

/** `?dryRun=true` of a recommendation, as far as it is shown. */
interface AdvicePreview {
  readonly preview: {
    readonly nodes: readonly { readonly nodeId: string; readonly name: string | null; readonly change: string }[];
    readonly seconds: number | null;
    readonly because: string;
  };
}

/** What applying a recommendation would do, node by node, and how long it may take. */
export function describeAdvice(volume: string, { preview }: AdvicePreview): string {
  const { nodes, seconds, because } = preview;
  const parts = nodes.map(({ nodeId, name, change }) => `${name ?? nodeId}: ${change}.`);
  const time = seconds === null ? 'How long it takes is not known' : `It may take ${seconds} s`;
  return [`Apply to ${volume}?`, ...parts, `${time}: ${because}.`].join(' ');
}
