import type { ArchivedRevision } from '../../crds/archive/index.js';
import { admitCreate, type Deployment, type StoredDeployment, toReplacement } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import { computeTemplateHash, toContainerTemplate } from '../../crds/replica/index.js';
import { type CanaryBeside, type CanaryOrder, computeContentHash } from '../../crds/rollout/index.js';
import type { Warning } from '../../crds/rule/index.js';
import { findHistory, listRevisions, toRollbackSpec } from '../../pkg/history/index.js';
import { type Change, encode } from '../../pkg/store/index.js';
import { RequestRejection } from '../http/reply.js';
import { type ApiCall, describeCaller } from '../http/route.js';
import type { AdmissionEnv } from './env.js';
import { gatherFacts } from './facts.js';
import { judgeRestoredPolicy } from './scaling.js';
import { readSubmitted } from './submitted.js';
import type { DeploymentWrite } from './write.js';

/** An earlier configuration that is brought back. */
export interface SubmissionOrigin extends Pick<DeploymentWrite, 'fromRevision' | 'fromBackup' | 'events'> {
  readonly change: 'rollback' | 'restore';
  /** The deployment whose configuration it is. */
  readonly name: string;
  /** The highest of what is brought back. */
  readonly secretsVersion: number;
  /** The history that comes with it, when the name has none here. */
  readonly revisions?: readonly ArchivedRevision[];
  /** The scaling policy that comes with it; null: it had none. Left out: the present one stays. */
  readonly scalingPolicy?: unknown;
  /** The canary that it was. */
  readonly canary?: BackedUpCanary;
}

/** A canary that was under way when a backup was made. */
export interface BackedUpCanary {
  readonly revision: number;
  readonly completedRevision: number | null;
  /** What ran beside it, where the backup has it. */
  readonly beside?: ArchivedRevision | undefined;
}

/** What comes with a configuration that is brought back. */
export interface RestoredParts {
  /** Nothing of it changes what is stored. */
  readonly isSame: boolean;
  /** For the deployment of this uid. */
  readonly toChange: (uid: string) => Change;
  readonly warnings: readonly Warning[];
}

interface RestoredConfiguration {
  readonly spec: Deployment;
  /** The deployment that it replaces; left out where it is made anew. */
  readonly before?: StoredDeployment;
}

/** Judges the scaling policy and the canary that come with a configuration. */
export async function judgeRestored(
  env: AdmissionEnv,
  call: ApiCall,
  restored: RestoredConfiguration,
  { scalingPolicy, canary }: SubmissionOrigin,
  limits: AdmissionEnv['deploymentLimits'],
): Promise<RestoredParts | RequestRejection> {
  const policy = judgeRestoredPolicy(env, { tenant: call.tenant, ...restored }, scalingPolicy, limits);
  if (policy instanceof RequestRejection) return policy;
  const beside = canary && (await judgeCanary(env, call.tenant, restored, canary, limits));
  const isRefused = typeof beside === 'string';
  return {
    isSame: policy?.isSame ?? true,
    toChange: uid => {
      const { guards, puts, deletes } = policy?.toChange(uid) ?? { guards: [], puts: [], deletes: [] };
      const order = beside && !isRefused ? orderResumption(env, call, restored.spec, { uid, beside }) : undefined;
      return { guards: [...guards, ...(order?.guards ?? [])], puts: [...puts, ...(order?.puts ?? [])], deletes };
    },
    warnings: isRefused ? [warnNotResumed(restored.spec.name, canary!, beside)] : [],
  };
}

/** What is to run beside the canary again, or why it is not resumed. */
async function judgeCanary(
  env: AdmissionEnv,
  tenant: string,
  { spec, before }: RestoredConfiguration,
  { beside }: BackedUpCanary,
  limits: AdmissionEnv['deploymentLimits'],
): Promise<CanaryBeside | string> {
  if (before) return 'the deployment exists: what is restored is a change like any other, with a canary of its own';
  if (!beside) return 'what ran beside it is not part of the backup: it is rolled out in full';
  const baseline = toRollbackSpec(spec, beside.spec);
  const document = toReplacement(baseline);
  const { facts } = await gatherFacts(env, tenant, readSubmitted(document));
  const admission = admitCreate(document, facts, limits, baseline.secretsVersion);
  if (!admission.ok) {
    const [{ code, field }] = admission.rejections;
    return `what ran beside it would be refused by now (${code} at ${field}): it is rolled out in full`;
  }
  const { nodeId } = baseline;
  const templateHash = computeTemplateHash(baseline);
  return {
    completed: { revision: beside.revision, templateHash, contentHash: computeContentHash(baseline), at: beside.at },
    baseline: {
      templateHash,
      template: toContainerTemplate(baseline),
      ...(nodeId !== undefined && { namedNode: nodeId }),
    },
  };
}

/** The order by which the replica keeper begins with the canary and with what ran beside it. */
function orderResumption(
  { cache, clock }: AdmissionEnv,
  { tenant, caller }: ApiCall,
  spec: Deployment,
  { uid, beside }: { readonly uid: string; readonly beside: CanaryBeside },
): Pick<Change, 'guards' | 'puts'> {
  const key = keys.canaryOrder(tenant, spec.name);
  const order: CanaryOrder = {
    uid,
    contentHash: computeContentHash(spec),
    action: 'resume',
    beside,
    by: describeCaller(caller),
    at: new Date(clock.now()).toISOString(),
  };
  return { guards: [{ key, at: cache.get(key)?.revision ?? 0 }], puts: [{ key, bytes: encode(order) }] };
}

function warnNotResumed(name: string, { revision, completedRevision }: BackedUpCanary, because: string): Warning {
  const back = `"moor rollout undo ${name} --to-revision ${completedRevision}" brings back what ran beside it`;
  const message = `revision ${revision} was a canary when it was backed up, and is not resumed: ${because}; ${back}`;
  return { code: 'canary_not_resumed', field: 'canaryState', message };
}

/** The highest that a deployment that does not exist now is known to have had: what is brought back has no lower one. */
export async function readSecretsVersion(
  { cache, store: reads }: AdmissionEnv,
  tenant: string,
  { name, secretsVersion }: SubmissionOrigin,
): Promise<number> {
  const history = findHistory(cache, tenant, name);
  const revisions = history ? await listRevisions(reads, tenant, history) : [];
  return Math.max(secretsVersion, ...revisions.map(each => each.secretsVersion));
}
