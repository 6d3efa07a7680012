import {
  boundReplicas,
  isPolicyOf,
  type ScalingRecord,
  type StoredDeployment,
  type StoredScalingPolicy,
} from '../../crds/deployment/index.js';
import { formatCount } from '../../crds/grammar/index.js';
import { keys } from '../../crds/keys/index.js';
import { isUpToDate } from '../../crds/replica/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { findUsage } from '../../pkg/fleet/index.js';
import { again, done, type LoopEnv, type Reconcile } from '../../pkg/reconcile/index.js';
import { encode, value } from '../../pkg/store/index.js';
import { isServing, type ObservedDeployment, parseQueueKey, readDeployment } from '../reading/index.js';
import { decideScaling, type PastProposal, type ScaledReplica, type ScalingDecision, STEP_MS } from './decide.js';

/** Figures are stored when they have moved by so many percent points: a reader is nearly right, with few writes to etcd. */
const FIGURE_POINTS = 10;

/**
 * Moves the number of replicas of one deployment, when its policy says so, and looks again after a while.
 *
 * What was recommended is remembered in memory for the stabilization time: another leader starts empty, and takes nothing away before
 * that time is over.
 *
 * `decide` is replaced only by simulations, to prove that they detect wrong decisions.
 */
export function scaleDeployment(decide = decideScaling): Reconcile {
  const windows = new Map<string, readonly PastProposal[]>();
  let term: LoopEnv['fence'] | undefined;
  return async (queueKey, env) => {
    if (term !== env.fence) windows.clear();
    term = env.fence;
    const named = parseQueueKey(queueKey);
    const policyKey = keys.scalingPolicy(named.tenant, named.name);
    const key = keys.scaling(named.tenant, named.name);
    const [stored, before] = [env.cache.get(policyKey), env.cache.get(key)];
    const reading = readDeployment(named, env.cache);
    const { deployment } = reading;
    const policy = stored && value<StoredScalingPolicy>(stored);
    const isOwn = deployment !== undefined && policy?.metadata?.uid === deployment.metadata.uid;
    if (!policy || !isOwn) {
      windows.delete(queueKey);
      const entries = [...(stored ? [stored] : []), ...(before ? [before] : [])];
      const guards = [...entries.map(each => ({ key: each.key, at: each.revision })), reading.unchanged];
      if (entries.length > 0) await env.commit({ guards, puts: [], deletes: entries.map(each => each.key) });
      return done;
    }
    if (deployment.metadata.deletedAt || !isPolicyOf(deployment, policy)) return done;

    const known = before && value<ScalingRecord>(before);
    const record = known?.uid === deployment.metadata.uid ? known : undefined;
    const now = env.clock.now();
    const replicas = listOwn(reading, deployment);
    const decision = decide({
      deployment,
      policy,
      record,
      replicas: replicas.map(seen => observe(seen, env)),
      isRolling: replicas.some(({ replica }) => !isUpToDate(replica, deployment)),
      window: windows.get(queueKey) ?? [],
      now,
    });
    windows.set(queueKey, decision.window);
    const next = toRecord(deployment, record, decision, now);
    if (!record || isNews(record, next)) {
      const moved = next.scaledAt !== record?.scaledAt;
      const events = moved ? [await env.events.put(draftEvent(deployment, policy, record, next))] : [];
      const guards = [{ key, at: before?.revision ?? 0 }, { key: policyKey, at: stored.revision }, reading.unchanged];
      failpoint('scaling.deciding');
      await env.commit({ guards, puts: [{ key, bytes: encode(next) }, ...events], deletes: [] });
      failpoint('scaling.decided');
      const { tenant, name } = named;
      if (moved)
        env.log.info('deployment scaled', { tenant, deployment: name, count: next.replicas, because: next.message });
    }
    return again(STEP_MS, 'load may change');
  };
}

type ReplicaObservation = ObservedDeployment['replicas'][number];

/** The replicas that are to stay. */
function listOwn({ replicas }: ObservedDeployment, { metadata }: StoredDeployment): readonly ReplicaObservation[] {
  return replicas.filter(({ replica }) => replica.deploymentUid === metadata.uid && !replica.retiringSince);
}

function observe(seen: ReplicaObservation, { cache, clock }: LoopEnv): ScaledReplica {
  const { replica, nodeName } = seen;
  const isReady = isServing(seen);
  if (!isReady || nodeName === undefined || replica.nodeId === undefined) return { isReady };
  const node = { tenant: replica.tenant, name: nodeName, id: replica.nodeId };
  return { isReady, usage: findUsage(cache, node, replica.uid, clock.now()) };
}

function toRecord(
  { metadata, replicas: base }: StoredDeployment,
  before: ScalingRecord | undefined,
  { replicas, reason, message, figures }: ScalingDecision,
  now: number,
): ScalingRecord {
  const at = new Date(now).toISOString();
  const isMoved = replicas !== (before?.replicas ?? base);
  const scaledAt = isMoved ? at : before?.scaledAt;
  return {
    uid: metadata.uid,
    base,
    replicas,
    ...(scaledAt !== undefined && { scaledAt }),
    reason,
    message,
    ...figures,
    at,
  };
}

/** Whether a reader of the record would be misled by the one before. */
function isNews(before: ScalingRecord, next: ScalingRecord): boolean {
  if ((['base', 'replicas', 'reason', 'scaledAt'] as const).some(part => before[part] !== next[part])) return true;
  return (['cpuPercent', 'memoryPercent'] as const).some(
    part =>
      (before[part] === undefined) !== (next[part] === undefined) ||
      Math.abs((before[part] ?? 0) - (next[part] ?? 0)) >= FIGURE_POINTS,
  );
}

function draftEvent(
  { metadata, name, replicas: base }: StoredDeployment,
  policy: StoredScalingPolicy,
  before: ScalingRecord | undefined,
  { replicas, reason, message, cpuPercent, memoryPercent }: ScalingRecord,
): EventDraft {
  const from = before?.replicas ?? base;
  return {
    type: 'deployment.scaled',
    tenant: metadata.tenant,
    subject: { kind: 'Deployment', name, id: metadata.uid },
    reason,
    message: `deployment ${name} was scaled from ${from} to ${formatCount(replicas, 'replica')}: ${message}`,
    data: {
      from,
      to: replicas,
      base,
      minReplicas: policy.minReplicas,
      maxReplicas: policy.maxReplicas,
      isBounded: boundReplicas(base, policy) !== base,
      ...(cpuPercent !== undefined && { cpuPercent, targetCpuPercent: policy.targetCpuPercent ?? null }),
      ...(memoryPercent !== undefined && { memoryPercent, targetMemoryPercent: policy.targetMemoryPercent ?? null }),
    },
  };
}
