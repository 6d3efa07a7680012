import {
  getWantedReplicas,
  isPolicyOf,
  type ScalingStatus,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import type { readScaling } from '../../pkg/fleet/index.js';

/** The scaling of a deployment as its status shows it; undefined without a policy. */
export function toScalingStatus(
  deployment: StoredDeployment,
  { policy, record }: ReturnType<typeof readScaling>,
): ScalingStatus | undefined {
  const { uid } = deployment.metadata;
  if (!isPolicyOf(deployment, policy)) return undefined;
  const { minReplicas, maxReplicas, targetCpuPercent, targetMemoryPercent } = policy;
  const bounds = {
    minReplicas,
    maxReplicas,
    ...(targetCpuPercent !== undefined && { targetCpuPercent }),
    ...(targetMemoryPercent !== undefined && { targetMemoryPercent }),
    replicas: getWantedReplicas(deployment, policy, record),
  };
  // What was decided from another number of replicas in the spec does not hold any more.
  if (record?.uid !== uid || record.base !== deployment.replicas) return { ...bounds, message: 'not looked at yet' };
  const { reason, message, cpuPercent, memoryPercent } = record;
  return {
    ...bounds,
    ...(cpuPercent !== undefined && { cpuPercent }),
    ...(memoryPercent !== undefined && { memoryPercent }),
    reason,
    message,
  };
}
