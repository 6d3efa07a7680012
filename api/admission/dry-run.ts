import {
  type Deployment,
  type DeploymentFacts,
  isMovable,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import { isUpToDate, type Replica } from '../../crds/replica/index.js';
import type { SecretWrite } from '../../crds/secret/index.js';
import { type DeploymentExplanation, explainDeployment, findNode, previewPlacement } from '../../pkg/fleet/index.js';
import { filters, satisfiesResidency, summariseRejections, toResidencyRule } from '../../pkg/placement/index.js';
import { value } from '../../pkg/store/index.js';
import type { AdmissionEnv } from './env.js';
import { countWanted } from './scaling.js';
import { dryRunSecrets } from './secrets.js';

/** What a dry run of a deployment says beside it: which replicas are recreated, which secrets resolve, and where replicas go. */
export function previewDeployment(
  env: AdmissionEnv,
  tenant: string,
  { spec, material }: { readonly spec: Deployment; readonly material: readonly SecretWrite[] },
  facts: DeploymentFacts,
  stored: StoredDeployment | undefined,
) {
  const replicas = listReplicas(env, tenant, spec.name);
  const placed = replicas.filter(({ nodeId }) => nodeId !== undefined).length;
  const missing = Math.max(0, countWanted(env.cache, spec, stored) - placed);
  return {
    recreated: replicas
      .filter(replica => !isUpToDate(replica, spec) || isEvicted(env, spec, replica))
      .map(({ slot, nodeId }) => ({ replica: slot, nodeId: nodeId ?? null })),
    secrets: dryRunSecrets(spec, material, facts.secretKeys),
    placement: previewWorkload(env, tenant, spec, missing),
  };
}

/** Whether a replica has to leave its node because of where the data of the deployment may be. */
function isEvicted({ cache, placementPolicy }: AdmissionEnv, spec: Deployment, { tenant, nodeId }: Replica): boolean {
  const residency = toResidencyRule(spec.placement?.residency, placementPolicy.regions);
  const node = nodeId === undefined ? undefined : findNode(nodeId, tenant, cache);
  if (!residency?.regions.enforced || !node || !isMovable(spec)) return false;
  return !satisfiesResidency(residency, node.labels);
}

/** Explains every node for a workload, and where the replicas that are missing would go. */
export function previewWorkload(env: AdmissionEnv, tenant: string, spec: Deployment, missing: number) {
  const reading = { cache: env.cache, policy: env.placementPolicy };
  const preview = previewPlacement(spec, tenant, missing, reading);
  return {
    ...toExplanationView(explainDeployment(spec, tenant, reading, 'are replaced')),
    next: preview.nodes.map(({ name }) => name),
    unplaced: preview.unplaced,
  };
}

function listReplicas({ cache }: AdmissionEnv, tenant: string, name: string): readonly Replica[] {
  const replicas = cache.list(ranges.replicasOf(tenant, name)).map(entry => value<Replica>(entry));
  return replicas.filter(({ retiringSince }) => retiringSince === undefined);
}

/** An explanation of placement as clients see it: with the filters that rejected a node, not with those it passed. */
export function toExplanationView({ nodes, able, findHolders }: DeploymentExplanation) {
  const candidates = nodes.map(({ verdicts, ...node }) => ({
    ...node,
    reasons: verdicts.flatMap(({ reason }) => {
      if (!reason) return [];
      const inTheWay = findHolders(node.nodeId, reason.filter);
      return [{ ...reason, ...(inTheWay.length > 0 && { inTheWay }) }];
    }),
  }));
  const refused = candidates.filter(({ reasons }) => reasons.length > 0);
  return { filters: filters.map(({ name }) => name), able, summary: summariseRejections(able, refused), candidates };
}
