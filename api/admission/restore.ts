import type { ArchivedRevision } from '../../crds/archive/index.js';
import {
  admitCreate,
  type Deployment,
  type DeploymentFacts,
  type DeploymentLimits,
  type StoredDeployment,
  toReplacement,
} from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import { computeTemplateHash, toContainerTemplate } from '../../crds/replica/index.js';
import { type CanaryBeside, type CanaryOrder, computeContentHash } from '../../crds/rollout/index.js';
import type { Warning } from '../../crds/rule/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { findHistory, listRevisions, type RevisionCause, toRollbackSpec } from '../../pkg/history/index.js';
import { type Cache, type Change, encode } from '../../pkg/store/index.js';
import { RequestRejection } from '../http/reply.js';
import { describeCaller } from '../http/route.js';
import type { WriteInput } from '../write/write.js';
import type { AdmissionEnv } from './env.js';
import { judgeRestoredPolicy } from './scaling.js';

/** An earlier configuration that is brought back. */
export interface SubmissionOrigin extends Pick<RevisionCause, 'fromRevision' | 'fromBackup'> {
  /** Further events. */
  readonly events?: readonly EventDraft[];
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
  /** What a dry run shows of it beside the configuration. */
  readonly before: object;
  readonly after: object;
}

/** A configuration that is brought back, as it is to be stored. */
interface RestoredConfiguration {
  readonly spec: Deployment;
  /** The deployment that it replaces; left out where none exists. */
  readonly before?: StoredDeployment;
  /** What the configuration that ran beside its canary is judged by. */
  readonly baselineFacts: DeploymentFacts | undefined;
  readonly limits: DeploymentLimits;
}

/** What ran beside the canary, as a document of its own. */
export function toBaselineDocument(document: unknown, { canary }: SubmissionOrigin): object | undefined {
  return canary?.beside && toReplacement(toRollbackSpec(document as Deployment, canary.beside.spec));
}

/** Judges the scaling policy and the canary that come with a configuration. */
export function judgeRestored(
  { call, now }: Pick<WriteInput, 'call' | 'now'>,
  cache: Pick<Cache, 'get'>,
  restored: RestoredConfiguration,
  { scalingPolicy, canary }: SubmissionOrigin,
): RestoredParts | RequestRejection {
  const policy = judgeRestoredPolicy(cache, { tenant: call.tenant, now, ...restored }, scalingPolicy, restored.limits);
  if (policy instanceof RequestRejection) return policy;
  const beside = canary && judgeCanary(restored, canary);
  const isRefused = typeof beside === 'string';
  const show = (side: 'before' | 'after') => (policy ? { scalingPolicy: policy[side] } : {});
  return {
    isSame: policy?.isSame ?? true,
    toChange: uid => {
      const { guards, puts, deletes } = policy?.toChange(uid) ?? { guards: [], puts: [], deletes: [] };
      const order =
        beside && !isRefused ? orderResumption(cache, { call, now, spec: restored.spec, uid, beside }) : undefined;
      return { guards: [...guards, ...(order?.guards ?? [])], puts: [...puts, ...(order?.puts ?? [])], deletes };
    },
    warnings: isRefused ? [warnNotResumed(restored.spec.name, canary!, beside)] : [],
    before: show('before'),
    after: { ...show('after'), ...(beside && !isRefused && { canary: { revision: canary!.revision, resumed: true } }) },
  };
}

/** What is to run beside the canary again, or why it is not resumed. */
function judgeCanary(
  { spec, before, baselineFacts, limits }: RestoredConfiguration,
  { beside }: BackedUpCanary,
): CanaryBeside | string {
  if (before) return 'the deployment exists: what is restored is a change like any other, with a canary of its own';
  if (!beside || !baselineFacts) return 'what ran beside it is not part of the backup: it is rolled out in full';
  const baseline = toRollbackSpec(spec, beside.spec);
  const admission = admitCreate(toReplacement(baseline), baselineFacts, limits, baseline.secretsVersion);
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

interface Resumption extends Pick<WriteInput, 'call' | 'now'> {
  readonly spec: Deployment;
  readonly uid: string;
  readonly beside: CanaryBeside;
}

/** The order by which the replica keeper begins with the canary and with what ran beside it. */
function orderResumption(
  cache: Pick<Cache, 'get'>,
  { call: { tenant, caller }, now, spec, uid, beside }: Resumption,
): Pick<Change, 'guards' | 'puts'> {
  const key = keys.canaryOrder(tenant, spec.name);
  const contentHash = computeContentHash(spec);
  const order: CanaryOrder = { uid, contentHash, action: 'resume', beside, by: describeCaller(caller), at: now };
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
