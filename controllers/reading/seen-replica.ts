import { keys } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import { type Cache, type Entry, type Revision, value } from '../../pkg/store/index.js';
import { NODES_BY_ID } from './indexes.js';

/** Where a replica is: `gone` means that the node it was given is no longer known. */
export type Whereabouts = 'nowhere' | 'well' | 'failed' | 'gone';

/** One replica with what is known of its container. */
export interface SeenReplica {
  readonly replica: Replica;
  /** Of the replica's record, for the guard of a change to it. */
  readonly revision: Revision;
  readonly report: Report | undefined;
  readonly node: Whereabouts;
}

/** Whether the replica does its work, as far as can be known: the word of a node that is not heard does not count. */
export function isServing({ report, node }: SeenReplica): boolean {
  return node === 'well' && isReady(report);
}

/** Reads what is known of the replica that an entry holds. */
export function seeReplica(entry: Entry, cache: Cache): SeenReplica {
  const replica = value<Replica>(entry);
  const { tenant, nodeId, uid } = replica;
  if (nodeId === undefined) return { replica, revision: entry.revision, report: undefined, node: 'nowhere' };

  const report = cache.get(keys.report(tenant, nodeId, uid));
  return {
    replica,
    revision: entry.revision,
    report: report && value<Report>(report),
    node: whereabouts(nodeId, tenant, cache),
  };
}

function whereabouts(nodeId: string, tenant: string, cache: Cache): Whereabouts {
  const node = cache.by(NODES_BY_ID, nodeId).map(entry => value<StoredNode>(entry));
  const own = node.find(({ metadata }) => metadata.tenant === tenant);
  if (!own) return 'gone';

  const status = cache.get(keys.nodeStatus(tenant, own.name));
  return status && value<NodeStatus>(status).status === 'failed' ? 'failed' : 'well';
}
