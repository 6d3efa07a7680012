import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import {
  findHeldCanary,
  isOfPresent,
  type ReplicaForm,
  type RolloutRecord,
  toReplicaForm,
} from '../../crds/rollout/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type Cache, readValue } from '../store/index.js';
import { type DeploymentExplanation, explainDeployment, type PlacementSources, withForm } from './workload.js';

/** Replicas of a deployment that are placed alike. */
export interface ReplicaGroup<T> {
  /** The deployment as these replicas ask for a node. */
  readonly spec: StoredDeployment;
  readonly replicas: readonly T[];
}

/** Whether replicas of older templates are kept, and recreated: the rollout is paused, or has a canary. */
export function isHoldingOlder({ rollout }: StoredDeployment): boolean {
  return rollout?.paused === true || rollout?.canary !== undefined;
}

/**
 * Groups replicas by how they are placed, in their order. Those of an older template that is kept are placed as that template
 * asks; everywhere else the present one takes their place, and all are placed as the deployment asks now.
 */
export function groupByForm<T extends { readonly replica: Replica }>(
  deployment: StoredDeployment,
  replicas: readonly T[],
  cache: Cache,
): readonly ReplicaGroup<T>[] {
  if (!isHoldingOlder(deployment)) return [{ spec: deployment, replicas }];
  const { metadata, name } = deployment;
  const record = readValue<RolloutRecord>(cache, keys.rollout(metadata.tenant, name));
  const baseline = findHeldCanary(deployment, record)?.baseline;
  const completed = record?.uid === metadata.uid ? record.completed?.templateHash : undefined;
  const groups = new Map<string, { readonly form?: ReplicaForm; readonly replicas: T[] }>();
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

/**
 * Why each node would take the replicas that wait, or why not, as the scheduler reports it: where it takes none of several forms, every
 * node has the reasons of each. Of a deployment of which none waits: why it would take one more.
 */
export function explainWaiting(
  deployment: StoredDeployment,
  waiting: readonly Replica[],
  sources: PlacementSources,
): DeploymentExplanation {
  const replicas = waiting.map(replica => ({ replica }));
  const groups = groupByForm(deployment, replicas, sources.cache);
  const specs = groups.length > 0 ? groups.map(({ spec }) => spec) : [deployment];
  const all = specs.map(spec => explainDeployment(spec, deployment.metadata.tenant, sources));
  const [first = all[0]!, ...others] = all.filter(({ able }) => able === 0);
  return others.reduce(joinExplanations, first);
}

function joinExplanations(one: DeploymentExplanation, other: DeploymentExplanation): DeploymentExplanation {
  const more = new Map(other.nodes.map(({ nodeId, verdicts }) => [nodeId, verdicts]));
  return {
    able: 0,
    nodes: one.nodes.map(node => {
      const known = new Set(node.verdicts.map(({ reason }) => reason?.message));
      const added = more.get(node.nodeId)!.filter(({ reason }) => reason && !known.has(reason.message));
      return { ...node, verdicts: [...node.verdicts, ...added] };
    }),
    findHolders: (nodeId, filter) => {
      const holders = [...one.findHolders(nodeId, filter), ...other.findHolders(nodeId, filter)];
      return [...new Map(holders.map(each => [JSON.stringify(each), each])).values()];
    },
  };
}
