import {
  boundReplicas,
  getRequest,
  getScalingTarget,
  getStabilization,
  getWantedReplicas,
  listUnmeasurable,
  scaledResources,
  type ScaledResource,
  type ScalingFigures,
  type ScalingRecord,
  type StoredDeployment,
  type StoredScalingPolicy,
} from '../../crds/deployment/index.js';
import { formatCount } from '../../crds/grammar/index.js';
import type { Reason } from '../../crds/reasons/index.js';

/** Between two steps, in milliseconds. */
export const STEP_MS = 15_000;
/** A figure so near to its target moves nothing: a tenth of it. */
const TOLERANCE = 0.1;

/** One replica that is to stay. */
export interface ScaledReplica {
  readonly isReady: boolean;
  /** Thousandths of a core, and bytes; undefined when nothing fresh is known. */
  readonly usage?: Readonly<Record<ScaledResource, number>> | undefined;
}

/** How many replicas were found right, and when. */
export interface PastProposal {
  readonly at: number;
  readonly replicas: number;
}

export interface ScalingInput {
  readonly deployment: StoredDeployment;
  readonly policy: StoredScalingPolicy;
  /** What is stored, of this deployment. */
  readonly record: ScalingRecord | undefined;
  readonly replicas: readonly ScaledReplica[];
  /** A replica is of another template. */
  readonly isRolling: boolean;
  /** What was recommended before, as long as it is remembered. */
  readonly window: readonly PastProposal[];
  readonly now: number;
}

export interface ScalingDecision {
  readonly replicas: number;
  readonly reason: Reason;
  readonly message: string;
  readonly figures: ScalingFigures;
  readonly window: readonly PastProposal[];
}

/**
 * How many replicas a deployment with a policy is to have, by the rules of the horizontal autoscaler of Kubernetes.
 *
 * The largest number over the targets counts. Fewer than there are only when nothing more was recommended for the stabilization
 * time of the policy. While a template is rolled out or the rollout is paused, the number stays.
 */
export function decideScaling(input: ScalingInput): ScalingDecision {
  const { deployment, policy, record, isRolling } = input;
  const current = getWantedReplicas(deployment, policy, record);
  const keep = (reason: Reason, message: string, more: Partial<ScalingDecision> = {}): ScalingDecision => ({
    replicas: current,
    reason,
    message,
    figures: {},
    window: input.window,
    ...more,
  });
  const asked = `the deployment asks for ${formatCount(deployment.replicas, 'replica')}`;
  if (deployment.replicas === 0) return keep('scaling_stopped', 'the deployment is stopped', { window: [] });
  if (record && record.base !== deployment.replicas) {
    const bounded = current === deployment.replicas ? '' : `, and its scaling policy allows ${current}`;
    return keep('scaling_base', `${asked}${bounded}`, { window: [] });
  }
  if ((record?.replicas ?? deployment.replicas) !== current) {
    const bounds = `${policy.minReplicas} to ${policy.maxReplicas}`;
    return keep('scaling_bounds', `${asked}; its scaling policy allows ${bounds}`, { window: [] });
  }
  if (deployment.rollout?.paused) return keep('scaling_paused', 'the rollout is paused');
  if (isRolling) return keep('scaling_rollout', 'a rollout is under way');
  const [unmeasurable] = listUnmeasurable(policy, deployment);
  if (unmeasurable !== undefined) {
    const cause = `the policy has a target for ${unmeasurable}, of which the deployment requests nothing`;
    return keep('scaling_no_request', `${cause}: set resources.${unmeasurable}`);
  }
  return follow(input, current, keep);
}

function follow(
  { deployment, policy, record, replicas, window, now }: ScalingInput,
  current: number,
  keep: (reason: Reason, message: string, more?: Partial<ScalingDecision>) => ScalingDecision,
): ScalingDecision {
  const proposals = scaledResources.flatMap(resource => {
    const target = getScalingTarget(policy, resource);
    const request = getRequest(deployment, resource);
    if (target === undefined || request === undefined) return [];
    return [{ resource, target, ...propose(replicas, { resource, target, request, current }) }];
  });
  const known = proposals.filter(each => each.percent !== undefined);
  const figures = Object.fromEntries(known.map(({ resource, percent }) => [`${resource}Percent`, percent]));
  const text = known.map(({ resource, percent, target }) => `${resource} ${percent} % of ${target} %`).join(', ');
  const desired = Math.max(0, ...known.map(each => each.replicas));
  // A resource without figures could need more: nothing is taken away on behalf of the others.
  if (known.length < proposals.length && desired <= current) {
    return keep('scaling_no_figures', 'it is not known yet what the replicas use', { figures });
  }
  const bounded = boundReplicas(Math.min(desired, Math.max(current * 2, current + 4)), policy);
  const span = getStabilization(policy);
  const remembered = window.length > 0 ? window : [{ at: now, replicas: current }];
  const recent = [...remembered.filter(({ at }) => now - at < span && at <= now), { at: now, replicas: bounded }];
  const next = bounded > current ? bounded : Math.min(current, Math.max(...recent.map(each => each.replicas)));
  const more = { figures, window: recent };
  if (next === current) {
    if (bounded < current) {
      const count = formatCount(bounded, 'replica');
      return keep('scaling_stabilizing', `${text}; ${count} would do, if that holds for ${policy.stabilization}`, more);
    }
    const needed = `${formatCount(desired, 'replica')} would do`;
    if (desired > current) return keep('scaling_at_maximum', `${text}; ${needed}, and ${current} are allowed`, more);
    if (desired < current) return keep('scaling_at_minimum', `${text}; ${needed}, and ${current} are kept`, more);
    return keep('scaling_steady', text, more);
  }
  const since = now - Date.parse(record?.scaledAt ?? '');
  if (since >= 0 && since < STEP_MS) return keep('scaling_rests', `${text}; the last step was a moment ago`, more);
  const message = `${text}; ${current} → ${formatCount(next, 'replica')}`;
  return { replicas: next, reason: next > current ? 'scaled_up' : 'scaled_down', message, ...more };
}

interface Aim {
  readonly resource: ScaledResource;
  /** In percent of the request. */
  readonly target: number;
  readonly request: number;
  readonly current: number;
}

/**
 * How many replicas would use what is aimed at. One that is ready and of which nothing is known counts as idle when there are too
 * few replicas, and as right when there are too many; one that is not ready counts as idle when there are too few, and not at all
 * otherwise. So a doubt never moves the number further than what is known does.
 */
function propose(
  replicas: readonly ScaledReplica[],
  { resource, target, request, current }: Aim,
): { readonly replicas: number; readonly percent?: number } {
  const ready = replicas.filter(({ isReady }) => isReady);
  const used = ready.flatMap(({ usage }) => (usage ? [usage[resource]] : [])).filter(Number.isFinite);
  if (used.length === 0) return { replicas: current };
  const sum = used.reduce((total, each) => total + each, 0);
  const percent = Math.round((sum / (used.length * request)) * 100);
  const ratio = sum / (used.length * request) / (target / 100);
  const missing = ready.length - used.length;
  const unready = ratio > 1 ? replicas.length - ready.length : 0;
  const assumed = ratio < 1 ? missing * request * (target / 100) : 0;
  const counted = used.length + missing + unready;
  // Rounded, so that 1.2 × 5 is not 6.000000000000001 and then 7, and 1.1 is within a tenth.
  const wider = round((sum + assumed) / (counted * request) / (target / 100));
  const isNear = round(Math.abs(wider - 1)) <= TOLERANCE;
  if (isNear || ratio > 1 !== wider > 1) return { replicas: current, percent };
  const desired = Math.ceil(round(wider * counted));
  const isBackwards = wider > 1 ? desired < current : desired > current;
  return { replicas: isBackwards ? current : Math.max(1, desired), percent };
}

function round(ratio: number): number {
  return Number(ratio.toFixed(6));
}
