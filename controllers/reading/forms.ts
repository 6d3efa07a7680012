import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import {
  findHeldCanary,
  isOfPresent,
  type ReplicaForm,
  type RolloutRecord,
  toReplicaForm,
} from '../../crds/rollout/index.js';
import { withForm } from '../../pkg/fleet/index.js';
import { type Cache, readValue } from '../../pkg/store/index.js';
import type { ObservedReplica } from './observed.js';

/** Replicas of a deployment that are placed alike. */
export interface ReplicaGroup {
  /** The deployment as these replicas ask for a node. */
  readonly spec: StoredDeployment;
  readonly replicas: readonly ObservedReplica[];
}

/** Whether replicas of older templates are kept, and made anew: the rollout is paused, or has a canary. */
export function isHoldingOlder({ rollout }: StoredDeployment): boolean {
  return rollout?.paused === true || rollout?.canary !== undefined;
}

/**
 * Groups replicas by how they are placed, in their order. Those of an older template that is kept are placed as that template
 * asks; everywhere else the present one takes their place, and all are placed as the deployment asks now.
 */
export function groupByForm(
  deployment: StoredDeployment,
  replicas: readonly ObservedReplica[],
  cache: Cache,
): readonly ReplicaGroup[] {
  if (!isHoldingOlder(deployment)) return [{ spec: deployment, replicas }];
  const { metadata, name } = deployment;
  const record = readValue<RolloutRecord>(cache, keys.rollout(metadata.tenant, name));
  const baseline = findHeldCanary(deployment, record)?.baseline;
  const completed = record?.uid === metadata.uid ? record.completed?.templateHash : undefined;
  const groups = new Map<string, { readonly form?: ReplicaForm; readonly replicas: ObservedReplica[] }>();
  for (const seen of replicas) {
    const isPresent = isOfPresent(seen.replica, deployment, baseline);
    const form = isPresent ? undefined : toReplicaForm(seen.replica, completed);
    const group = groups.get(form?.templateHash ?? '') ?? { ...(form && { form }), replicas: [] };
    group.replicas.push(seen);
    groups.set(form?.templateHash ?? '', group);
  }
  return Array.from(groups.values(), ({ form, replicas: group }) => ({
    spec: form ? withForm(deployment, form) : deployment,
    replicas: group,
  }));
}
