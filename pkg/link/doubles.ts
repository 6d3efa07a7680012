import { keys } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import { value } from '../store/index.js';
import type { HeldContainer } from './agent-link.js';
import { type DispatcherEnv, readReplica, REPLICAS_BY_UID } from './dispatcher-env.js';
import { type AgentIdentity, isHeldByOther } from './presence.js';

/**
 * Whether a container of an agent that was refused may be stopped: its replica is no longer placed on the node, or the agent
 * that has the node reports another container of it that runs. Anything else may be the only copy. Two agents on one engine
 * name the same container, which doubles nothing.
 */
export function isDouble(containerId: string, replica: Replica | undefined, report: Report | undefined): boolean {
  if (!replica) return true;
  return isReady(report) && report?.containerId !== undefined && report.containerId !== containerId;
}

/** The replicas of which a refused agent runs a second container. None for an agent that has the node, or may take it over. */
export async function findDoubles(
  env: DispatcherEnv,
  node: AgentIdentity,
  containers: readonly HeldContainer[],
): Promise<readonly string[]> {
  const { cache } = env;
  await cache.barrier();
  if (!isHeldByOther(env, node)) return [];
  const isDoubled = ({ replica: uid, containerId }: HeldContainer) => {
    const placed = cache.by(REPLICAS_BY_UID, uid).map(readReplica);
    const own = placed.find(({ tenant, nodeId }) => tenant === node.tenant && nodeId === node.id);
    const report = cache.get(keys.report(node.tenant, node.id, uid));
    return isDouble(containerId, own, report && value<Report>(report));
  };
  return containers.filter(isDoubled).map(({ replica }) => replica);
}
