import { keys } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import { NODES_BY_ID } from '../../pkg/fleet/index.js';
import { breachOf, type ResidencyRule } from '../../pkg/placement/index.js';
import { type Cache, type Entry, type Revision, value } from '../../pkg/store/index.js';

/** Where a replica is: `gone` means that the node it was given is no longer known. */
export type Whereabouts = 'nowhere' | 'well' | 'failed' | 'gone';

/** One replica with what is known of its container. */
export interface SeenReplica {
  readonly replica: Replica;
  /** Of the replica's record, for the guard of a change to it. */
  readonly revision: Revision;
  readonly report: Report | undefined;
  readonly node: Whereabouts;
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
    node: node ? whereabouts(node, cache) : 'gone',
    misplaced: node !== undefined && breaks(residency, node),
  };
}

function whereabouts({ metadata, name }: StoredNode, cache: Cache): Whereabouts {
  const status = cache.get(keys.nodeStatus(metadata.tenant, name));
  return status && value<NodeStatus>(status).status === 'failed' ? 'failed' : 'well';
}

/** Where residency is not enforced, nothing that was placed is out of place. */
function breaks(residency: ResidencyRule | undefined, { labels }: StoredNode): boolean {
  return residency?.regions.enforced === true && breachOf(residency, labels) !== undefined;
}
