import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import type { Report } from '../../../crds/report/index.js';
import { listReplicasOn } from '../../../pkg/fleet/index.js';
import { type Cache, value } from '../../../pkg/store/index.js';
import { replyJson, RequestRejection } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';
import { loadNode, type NodeViewEnv } from './view.js';

/** What is placed on a node, by deployment and replica, each as its agent last reported it. */
export async function listNodeReplicas(env: NodeViewEnv, call: ApiCall): Promise<RouteResult> {
  const entry = await loadNode(env, call);
  if (entry instanceof RequestRejection) return entry;
  const { cache } = env;
  const { id, name, metadata } = value<StoredNode>(entry);
  const items = [...listReplicasOn(id, cache)]
    .sort((a, b) => (a.deployment === b.deployment ? a.slot - b.slot : a.deployment < b.deployment ? -1 : 1))
    .map(replica => toReplicaView(replica, findReport(cache, metadata.tenant, id, replica)));
  const reports = cache.list(`${ranges.of(ranges.reports, metadata.tenant)}${id}/`).map(each => value<Report>(each).at);
  const lastReportAt = reports.sort().at(-1) ?? null;
  return replyJson(200, { node: name, items, lastReportAt, revision: String(cache.revision) });
}

function findReport(cache: Cache, tenant: string, nodeId: string, { uid }: Replica): Report | undefined {
  const entry = cache.get(keys.report(tenant, nodeId, uid));
  return entry && value<Report>(entry);
}

function toReplicaView(replica: Replica, report: Report | undefined) {
  const { deployment, slot, uid, generation, template, retiringSince } = replica;
  const { image, resources = {}, ports = [] } = template;
  return {
    deployment,
    replica: slot,
    uid,
    generation,
    image,
    resources,
    hostPorts: ports.filter(({ hostPort }) => hostPort !== undefined),
    state: report?.state ?? 'pending',
    health: report?.health ?? 'none',
    restarts: report?.restarts ?? 0,
    message: report?.message ?? null,
    reportedAt: report?.at ?? null,
    retiringSince: retiringSince ?? null,
  };
}
