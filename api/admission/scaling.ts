import {
  admitScaling,
  boundReplicas,
  type Deployment,
  getWantedReplicas,
  isPolicyOf,
  listUnmeasurable,
  type ScalingPolicy,
  type StoredDeployment,
  type StoredScalingPolicy,
  toScalingPolicy,
} from '../../crds/deployment/index.js';
import { formatCount } from '../../crds/grammar/index.js';
import { keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import type { Warning } from '../../crds/rule/index.js';
import { readScaling } from '../../pkg/fleet/index.js';
import { type Cache, type Change, encode, type Entry, type Put, value } from '../../pkg/store/index.js';
import { RequestRejection } from '../http/reply.js';
import type { AdmissionEnv } from './env.js';
import { readSubmitted } from './submitted.js';

/** The policy of a deployment, when it is of this very one. */
export interface KnownPolicy {
  /** What is stored at its key, of whichever deployment. */
  readonly entry: Entry | undefined;
  readonly stored: StoredScalingPolicy | undefined;
}

export function findPolicy(cache: Pick<Cache, 'get'>, deployment: StoredDeployment): KnownPolicy {
  const { metadata, name } = deployment;
  const entry = cache.get(keys.scalingPolicy(metadata.tenant, name));
  const stored = entry && value<StoredScalingPolicy>(entry);
  return { entry, stored: isPolicyOf(deployment, stored) ? stored : undefined };
}

/** The put that stores a policy. `uid` is that of the deployment. */
export function putPolicy(
  {
    tenant,
    name,
    uid,
    now,
  }: { readonly tenant: string; readonly name: string; readonly uid: string; readonly now: string },
  policy: ScalingPolicy,
  before?: StoredScalingPolicy,
): Put {
  const { generation = 0, createdAt = now } = before?.metadata ?? {};
  const metadata = { tenant, uid, generation: generation + 1, createdAt, updatedAt: now, specHash: hashSpec(policy) };
  return {
    key: keys.scalingPolicy(tenant, name),
    bytes: encode({ metadata, ...policy } satisfies StoredScalingPolicy),
  };
}

/** How many replicas a document would have: by its own number when it is new, and otherwise by the policy of the deployment (`stored`) that it changes. */
export function countWanted(
  cache: Pick<Cache, 'get'>,
  { replicas }: Pick<Deployment, 'replicas'>,
  stored: StoredDeployment | undefined,
): number {
  if (!stored) return replicas;
  const { metadata, name } = stored;
  const { policy, record } = readScaling(cache, { tenant: metadata.tenant, name });
  return getWantedReplicas({ metadata, replicas }, policy, record);
}

/** Says what becomes of the replicas that a document asks for, where the deployment has a scaling policy. */
export function warnScaled(
  cache: Pick<Cache, 'get'>,
  spec: Deployment,
  deployment: StoredDeployment | undefined,
): readonly Warning[] {
  const policy = deployment && findPolicy(cache, deployment).stored;
  if (!policy) return [];
  const warnings = listUnmeasurable(policy, spec).map(resource => ({
    code: 'scaling_request_missing',
    field: `resources.${resource}`,
    message: `the scaling policy has a target for ${resource}: without a request its number of replicas does not move`,
  }));
  const { replicas } = spec;
  return replicas === 0 || replicas === deployment.replicas ? warnings : [...warnings, describeBase(replicas, policy)];
}

/** Says that a number of replicas that is stored already was sent again, while the policy runs another. */
export function warnRepeated(
  cache: Pick<Cache, 'get'>,
  { replicas }: Deployment,
  document: unknown,
  stored: StoredDeployment | undefined,
): readonly Warning[] {
  if (!stored || !readSubmitted(document).sends('replicas')) return [];
  const policy = stored.replicas === replicas ? findPolicy(cache, stored).stored : undefined;
  const wanted = countWanted(cache, { replicas }, stored);
  if (!policy || wanted === replicas) return [];
  const bounds = `its scaling policy allows ${policy.minReplicas} to ${policy.maxReplicas}`;
  const message = `${bounds}: ${describeRun(wanted)} instead of ${replicas}, which it asked for before; another number moves it`;
  return [{ code: 'scaling_overrides_replicas', field: 'replicas', message }];
}

function describeRun(replicas: number): string {
  return `${formatCount(replicas, 'replica')} of it ${replicas === 1 ? 'is' : 'are'} run`;
}

/** What a policy makes of the replicas of a spec. */
export function describeBase(replicas: number, policy: ScalingPolicy): Warning {
  const bounded = boundReplicas(replicas, policy);
  const bounds = `its scaling policy allows ${policy.minReplicas} to ${policy.maxReplicas}`;
  return bounded === replicas
    ? { code: 'scaling_moves_replicas', field: 'replicas', message: `${bounds}, and moves the number on from there` }
    : {
        code: 'scaling_overrides_replicas',
        field: 'replicas',
        message: `${bounds}: ${describeRun(bounded)} instead of ${replicas}`,
      };
}

/** A policy that is brought back with a deployment, or taken away because the deployment had none then. */
export interface PolicyRestore {
  readonly isSame: boolean;
  /** For the deployment of this uid. */
  readonly toChange: (uid: string) => Change;
  /** What it was, and what it is to be; null for none. */
  readonly before: ScalingPolicy | null;
  readonly after: ScalingPolicy | null;
}

interface RestoredPolicy {
  readonly tenant: string;
  readonly now: string;
  readonly spec: Deployment;
  readonly before?: StoredDeployment;
}

/** Judges the policy that is brought back with a deployment: null where it had none, undefined where the present one stays. */
export function judgeRestoredPolicy(
  cache: Pick<Cache, 'get'>,
  { tenant, now, spec, before }: RestoredPolicy,
  policy: unknown,
  limits: AdmissionEnv['deploymentLimits'],
): PolicyRestore | RequestRejection | undefined {
  if (policy === undefined) return undefined;
  const key = keys.scalingPolicy(tenant, spec.name);
  const entry = cache.get(key);
  const known = before && findPolicy(cache, before).stored;
  const guards = [{ key, at: entry?.revision ?? 0 }];
  const was = known ? toScalingPolicy(known) : null;
  if (policy === null) {
    const deletes = entry ? [key] : [];
    return { isSame: !known, toChange: () => ({ guards, puts: [], deletes }), before: was, after: null };
  }
  const admission = admitScaling(policy, spec, limits);
  if (!admission.ok) {
    const [first, ...rest] = admission.rejections;
    const place = (each: typeof first) => ({ ...each, field: `scalingPolicy.${each.field}` });
    return new RequestRejection([place(first), ...rest.map(place)]);
  }
  const { spec: wanted } = admission;
  return {
    isSame: was !== null && hashSpec(was) === hashSpec(wanted),
    before: was,
    after: wanted,
    toChange: uid => ({
      guards,
      puts: [putPolicy({ tenant, name: spec.name, uid, now }, wanted, known)],
      deletes: [],
    }),
  };
}
