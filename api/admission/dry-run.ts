import {
  type Deployment,
  type DeploymentFacts,
  isMovable,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import { findPlaceholders, parseSecretPath, parseTemplate } from '../../crds/grammar/index.js';
import { ranges } from '../../crds/keys/index.js';
import { isUpToDate, type Replica } from '../../crds/replica/index.js';
import type { Warning } from '../../crds/rule/index.js';
import type { SecretWrite } from '../../crds/secret/index.js';
import { type DeploymentExplanation, explainDeployment, findNode, previewPlacement } from '../../pkg/fleet/index.js';
import { filters, satisfiesResidency, summariseRejections, toResidencyRule } from '../../pkg/placement/index.js';
import { value } from '../../pkg/store/index.js';
import type { AdmissionEnv } from './env.js';
import { countWanted } from './scaling.js';

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

/** Fields that are validated but not supported yet: without `dryRun` they are refused. */
export function warnUnsupported(spec: Deployment, supportedFields: ReadonlySet<string>): readonly Warning[] {
  return Object.keys(spec)
    .filter(field => !REQUIRED.includes(field) && !supportedFields.has(field))
    .map(field => ({
      code: 'feature_not_available',
      field,
      message: 'this control plane does not support the field yet; without dryRun the request is refused',
    }));
}

const REQUIRED = ['kind', 'name', 'image'];

/**
 * Whether each reference of a workload would resolve, with the material that came with it. Names of keys only: those that
 * the credential would hold, and those that templates use and it would not.
 */
export function dryRunSecrets(
  { secrets = [], composedSecrets = {} }: Pick<Deployment, 'secrets' | 'composedSecrets'>,
  material: readonly SecretWrite[],
  existing: Readonly<Record<string, readonly string[]>>,
) {
  const used = Object.values(composedSecrets).flatMap(template => findPlaceholders(parseTemplate(template) ?? []));
  return [...new Set(secrets.map(({ vault_path: path }) => path))].map(path => {
    const { label } = parseSecretPath(path) ?? {};
    const writes = material.filter(write => `${write.namespace}/${write.label}` === path);
    const written = writes.flatMap(({ values, generation }) => [...Object.keys(values), ...(generation?.keys ?? [])]);
    const keys = [...new Set([...(existing[path] ?? []), ...written])].sort();
    const missing = used.filter(({ resource, key }) => resource === label && !keys.includes(key)).map(({ key }) => key);
    const reason = writes.length > 0 ? 'written' : existing[path] ? 'exists' : 'secret_missing';
    const resolves = reason !== 'secret_missing' && missing.length === 0;
    return { path, resolves, reason, keys, missing: [...new Set(missing)] };
  });
}

/** Warns of the references that do not resolve: the deployment is stored, and its replicas wait for the secrets. */
export function warnUnresolved(
  spec: Pick<Deployment, 'secrets' | 'composedSecrets'>,
  material: readonly SecretWrite[],
  existing: Readonly<Record<string, readonly string[]>>,
): readonly Warning[] {
  const { secrets = [] } = spec;
  return dryRunSecrets(spec, material, existing)
    .filter(({ resolves }) => !resolves)
    .map(({ path, reason, missing }) => {
      const position = secrets.findIndex(({ vault_path }) => vault_path === path);
      const what =
        reason === 'secret_missing'
          ? `there is no secret ${path}`
          : `secret ${path} does not have the ${missing.length === 1 ? 'key' : 'keys'} ${missing.join(', ')}`;
      const message = `${what}; no container is created until PUT /api/v1/secrets/${path} has written it`;
      return { code: 'secret_missing', field: `secrets[${position}].vault_path`, message };
    });
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
