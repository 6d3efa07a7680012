import {
  type DeploymentAdmission,
  type Deployment,
  type DeploymentFacts,
  type StoredDeployment,
  toSpec,
} from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import { type Replica, templateHash } from '../../crds/replica/index.js';
import type { Warning } from '../../crds/rule/index.js';
import { explainDeployment, previewPlacement } from '../../pkg/fleet/index.js';
import { type Entry, value } from '../../pkg/store/index.js';
import { quotaWarnings } from '../admission/quota-warnings.js';
import type { ApiEnv } from '../env.js';
import type { WholeReply } from '../reply.js';
import { explanationView } from '../views/explanation.js';
import { trialReply } from './trial.js';
import { trySecrets } from './try-secrets.js';

/** A document that was accepted. */
export type Admitted = Extract<DeploymentAdmission, { ok: true }>;

/** What is to be tried. */
export interface Attempt {
  readonly admission: Admitted;
  readonly facts: DeploymentFacts;
  /** What is stored, when it would be changed. */
  readonly entry?: Entry;
}

/** Answers what would become of a deployment: what would be stored, what would run anew, what resolves, and where it goes. */
export async function tryDeployment(
  env: ApiEnv,
  tenant: string,
  { admission, facts, entry }: Attempt,
): Promise<WholeReply> {
  await env.cache.barrier();
  const { spec, alterations, warnings, material } = admission;
  const before = entry && toSpec(value<StoredDeployment>(entry));
  const replicas = replicasOf(env, tenant, spec.name);
  const isRecreated = before !== undefined && templateHash(before) !== templateHash(spec);
  return trialReply({
    ...(before && { before }),
    after: spec,
    alterations,
    warnings: [
      ...warnings,
      ...quotaWarnings(env, tenant, spec),
      ...unavailable(spec, env.deploymentLimits.supportedFields),
    ],
    more: {
      recreated: isRecreated ? replicas.map(containerOf) : [],
      secrets: trySecrets(spec, material, facts.secretKeys),
      placement: placementOf(env, tenant, spec, replicas.filter(({ nodeId }) => nodeId !== undefined).length),
    },
  });
}

/** Every node's say on a workload, and where those replicas would go that are not among the `placed`. */
export function placementOf(env: ApiEnv, tenant: string, spec: Deployment, placed: number) {
  const reading = { cache: env.cache, policy: env.placementPolicy };
  const preview = previewPlacement(spec, tenant, Math.max(0, spec.replicas - placed), reading);
  return {
    ...explanationView(explainDeployment(spec, tenant, reading)),
    next: preview.nodes.map(({ name }) => name),
    unplaced: preview.unplaced,
  };
}

function replicasOf({ cache }: ApiEnv, tenant: string, name: string): readonly Replica[] {
  const replicas = cache.list(ranges.replicasOf(tenant, name)).map(entry => value<Replica>(entry));
  return replicas.filter(({ retiringSince }) => retiringSince === undefined);
}

function containerOf({ slot, nodeId }: Replica) {
  return { replica: slot, nodeId: nodeId ?? null };
}

/** Fields that are judged already but not carried out: without `dryRun` they are refused. */
function unavailable(spec: Deployment, supportedFields: ReadonlySet<string>): readonly Warning[] {
  return Object.keys(spec)
    .filter(field => !ALWAYS.includes(field) && !supportedFields.has(field))
    .map(field => ({
      code: 'feature_not_available',
      field,
      message: 'this control plane does not carry it out yet: without dryRun it is refused',
    }));
}

const ALWAYS = ['kind', 'name', 'image'];
