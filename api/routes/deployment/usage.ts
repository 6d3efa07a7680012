import { getRequest, getWantedReplicas, type StoredDeployment } from '../../../crds/deployment/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { NodeUsage, StoredNode } from '../../../crds/node/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { findNode, findUsage, readScaling } from '../../../pkg/fleet/index.js';
import { listValues, readValue } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { replyJson } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';

type UsageEnv = Pick<AdmissionEnv, 'cache' | 'clock'>;

/** What the replicas of a deployment use together, of those that something fresh is known of. */
export function sumUsage({ cache, clock }: UsageEnv, { metadata, name }: StoredDeployment) {
  const { tenant, uid } = metadata;
  const own = listValues<Replica>(cache, ranges.replicasOf(tenant, name)).filter(each => each.deploymentUid === uid);
  const used = own.flatMap(replica => {
    const node = replica.nodeId === undefined ? undefined : findNode(replica.nodeId, tenant, cache);
    const found = node && findUsage(cache, { tenant, name: node.name, id: node.id }, replica.uid, clock.now());
    return found ? [found] : [];
  });
  return {
    measured: used.length,
    cpu: used.reduce((sum, { cpu }) => sum + cpu, 0),
    memory: used.reduce((sum, { memory }) => sum + memory, 0),
  };
}

/** What the deployments and the nodes of a tenant use: thousandths of a core, and bytes. */
export async function showUsage(env: UsageEnv, { tenant }: ApiCall): Promise<RouteResult> {
  const { cache } = env;
  await cache.barrier();
  const deployments = listValues<StoredDeployment>(cache, ranges.of(ranges.deployments, tenant)).map(deployment => {
    const { name } = deployment;
    const { policy, record } = readScaling(cache, { tenant, name });
    const request = { cpu: getRequest(deployment, 'cpu') ?? null, memory: getRequest(deployment, 'memory') ?? null };
    const { measured, cpu, memory } = sumUsage(env, deployment);
    const replicas = getWantedReplicas(deployment, policy, record);
    return { name, replicas, measuredReplicas: measured, used: { cpu, memory }, requestPerReplica: request };
  });
  const nodes = listValues<StoredNode>(cache, ranges.of(ranges.nodes, tenant)).map(({ id, name, capacity }) => {
    const usage = readValue<NodeUsage>(cache, keys.usage(tenant, name));
    const known = usage?.id === id ? usage : undefined;
    const sum = (part: 'cpu' | 'memory') => (known?.replicas ?? []).reduce((total, each) => total + each[part], 0);
    const used = known ? { cpu: sum('cpu'), memory: sum('memory') } : null;
    return { name, measuredContainers: known?.replicas.length ?? 0, measuredAt: known?.at ?? null, used, capacity };
  });
  return replyJson(200, { deployments, nodes, revision: String(cache.revision) });
}
