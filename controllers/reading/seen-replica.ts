import { keys } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import { NODES_BY_ID } from '../../pkg/fleet/index.js';
import { keepsResidency, type ResidencyRule } from '../../pkg/placement/index.js';
import { type Cache, type Entry, type Guard, type Revision, value } from '../../pkg/store/index.js';

/** Where a replica is: `gone` means that the node it was given is no longer known. */
export type Whereabouts = 'nowhere' | 'well' | 'failed' | 'gone';

/** How a node was lost, and the guard that it still is: what returned a moment ago is not given up. */
export interface Loss {
  readonly by: NonNullable<NodeStatus['lost']>;
  readonly still: Guard;
}

/** One replica with what is known of its container. */
export interface SeenReplica {
  readonly replica: Replica;
  /** Of the replica's record, for the guard of a change to it. */
  readonly revision: Revision;
  readonly report: Report | undefined;
  readonly node: Whereabouts;
  /** What is on its node counts as lost. The node is then `failed`. */
  readonly lost?: Loss;
  /** Its node is to be emptied. */
  readonly draining?: true;
  /** The node that it is on breaks the residency that the deployment asks for. */
  readonly misplaced: boolean;
}

/** Whether the replica does its work, as far as can be known: the word of a node that is not heard does not count. */
export function isServing({ report, node }: SeenReplica): boolean {
  return node === 'well' && isReady(report);
}

/** Reads what is known of the replica that an entry holds. `residency` is what its deployment asks for. */
export function seeReplica(entry: Entry, cache: Cache, residency: ResidencyRule | undefined): SeenReplica {
  const replica = value<Replica>(entry);
  const { revision } = entry;
  const { tenant, nodeId, uid } = replica;
  if (nodeId === undefined) return { replica, revision, report: undefined, node: 'nowhere', misplaced: false };

  const found = cache.by(NODES_BY_ID, nodeId).map(each => value<StoredNode>(each));
  const node = found.find(({ metadata }) => metadata.tenant === tenant);
  const report = cache.get(keys.report(tenant, nodeId, uid));
  return {
    replica,
    revision,
    report: report && value<Report>(report),
    ...(node ? whereabouts(node, cache) : { node: 'gone' }),
    misplaced: node !== undefined && breaks(residency, node),
  };
}

function whereabouts(
  { id, metadata, name }: StoredNode,
  cache: Cache,
): Pick<SeenReplica, 'node' | 'lost' | 'draining'> {
  const entry = cache.get(keys.nodeStatus(metadata.tenant, name));
  const written = entry && value<NodeStatus>(entry);
  const status = written?.id === id ? written : undefined;
  if (status?.status === 'draining') return { node: 'well', draining: true };
  if (status?.status !== 'failed') return { node: 'well' };
  if (!status.lost) return { node: 'failed' };
  return { node: 'failed', lost: { by: status.lost, still: { key: entry!.key, at: entry!.revision } } };
}

/** Where residency is not enforced, nothing that was placed is out of place. */
function breaks(residency: ResidencyRule | undefined, { labels }: StoredNode): boolean {
  return residency?.regions.enforced === true && !keepsResidency(residency, labels);
}
