import { formatAmount } from '../../crds/grammar/index.js';
import { parseJobOwner, type Replica } from '../../crds/replica/index.js';
import type { Holder } from '../../crds/scheduling/index.js';
import { type Candidate, findDomain, resourceKinds, type Workload } from '../placement/index.js';
import { listHostPorts, parseRequests } from './candidates.js';

/** Holders that an explanation names for one reason of one node. */
const MOST_NAMED = 3;

/** The replicas of one tenant that have a node, and the tenant's nodes: no other tenant can be named from them. */
export interface TenantReplicas {
  readonly nodes: readonly Candidate[];
  readonly byNode: ReadonlyMap<string, readonly Replica[]>;
}

export function groupByNode(nodes: readonly Candidate[], replicas: readonly Replica[]): TenantReplicas {
  const byNode = new Map<string, Replica[]>();
  for (const replica of replicas) {
    if (replica.nodeId === undefined) continue;
    const there = byNode.get(replica.nodeId);
    if (there) there.push(replica);
    else byNode.set(replica.nodeId, [replica]);
  }
  return { nodes, byNode };
}

/** Who is in the way where a filter rejects a node for one more replica of the workload, the largest first. */
export function listObstructingReplicas(
  filter: string,
  node: Candidate,
  workload: Workload,
  tenant: TenantReplicas,
): readonly Holder[] {
  const here = tenant.byNode.get(node.id) ?? [];
  if (filter === 'port') return listPortHolders(here, workload).slice(0, MOST_NAMED);
  if (filter === 'resources') return listLargest(here, node, workload).slice(0, MOST_NAMED);
  if (filter === 'anti_affinity') return listAvoided(node, workload, tenant).slice(0, MOST_NAMED);
  return [];
}

function toHolder({ deployment, slot, retiringSince }: Replica, holds: string): Holder {
  return { ...nameOwner(deployment, slot), holds, ...(retiringSince !== undefined && { isLeaving: true }) };
}

function nameOwner(owner: string, slot?: number): Pick<Holder, 'deployment' | 'job' | 'replica' | 'attempt'> {
  const job = parseJobOwner(owner);
  if (job !== undefined) return { job, ...(slot !== undefined && { attempt: slot }) };
  return { deployment: owner, ...(slot !== undefined && { replica: slot }) };
}

function listPortHolders(here: readonly Replica[], { hostPorts }: Workload): readonly Holder[] {
  return here.flatMap(replica => {
    const held = listHostPorts(replica.template).filter(port => hostPorts.includes(port));
    return held.length === 0 ? [] : [toHolder(replica, held.join(', '))];
  });
}

/** The largest users of the first resource that the node has too little of. */
function listLargest(here: readonly Replica[], { capacity, used }: Candidate, { requests }: Workload) {
  const kind = resourceKinds.find(each => (requests[each] ?? 0) > capacity[each] - used[each]);
  if (!kind) return [];
  return here
    .map(replica => ({ replica, amount: parseRequests(replica.template)[kind] ?? 0 }))
    .filter(({ amount }) => amount > 0)
    .sort((a, b) => b.amount - a.amount || compareHolders(a.replica, b.replica))
    .map(({ replica, amount }) => toHolder(replica, formatAmount(kind, amount)));
}

function compareHolders(a: Replica, b: Replica): number {
  return a.deployment === b.deployment ? a.slot - b.slot : a.deployment < b.deployment ? -1 : 1;
}

/** The replicas that the workload must be apart from, in the node's topology domain. */
function listAvoided(node: Candidate, { antiAffinity }: Workload, { nodes, byNode }: TenantReplicas) {
  return antiAffinity.flatMap(({ deployment, topologyKey }) => {
    const domain = findDomain(node, topologyKey);
    const near = nodes.filter(each => domain !== undefined && findDomain(each, topologyKey) === domain);
    return near.flatMap(({ id, name }) =>
      (byNode.get(id) ?? [])
        .filter(replica => replica.deployment === deployment)
        .map(replica => ({ ...toHolder(replica, ''), ...(id !== node.id && { node: name }) })),
    );
  });
}

/** The deployments and jobs that use most of a quota: the tenant’s own, and no other’s. */
export function listQuotaUsers(kind: string, replicas: readonly Replica[]): readonly Holder[] {
  if (kind !== 'containers' && kind !== 'cpu' && kind !== 'memory') return [];
  const sums = new Map<string, number>();
  for (const { deployment, template, nodeId } of replicas) {
    if (nodeId === undefined) continue;
    const amount = kind === 'containers' ? 1 : (parseRequests(template)[kind] ?? 0);
    sums.set(deployment, (sums.get(deployment) ?? 0) + amount);
  }
  return [...sums]
    .filter(([, amount]) => amount > 0)
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, MOST_NAMED)
    .map(([owner, amount]) => ({ ...nameOwner(owner), holds: formatAmount(kind, amount) }));
}
