import type { DeploymentStatus, RolloutStatus, StoredDeployment } from '../../crds/deployment/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import { isServing, type ObservedReplica } from '../reading/index.js';
import { isComplete, isHeld, type ReplicaSummary, type SummaryInput } from './summary.js';

/** How far the rollout of a deployment is, and what it waits for. */
export function toRolloutStatus(
  deployment: StoredDeployment,
  summary: ReplicaSummary,
  replicas: readonly ObservedReplica[],
  stored: RolloutRecord | undefined,
): RolloutStatus {
  const { metadata, rollout } = deployment;
  const record = stored?.uid === metadata.uid ? stored : undefined;
  const isDone = isComplete(summary);
  const isPaused = rollout?.paused === true && summary.rolling;
  const moving = summary.canary ? 'canary' : 'progressing';
  const state = isDone ? 'complete' : summary.failed ? 'failed' : isPaused ? 'paused' : moving;
  const waitsFor = isDone ? undefined : describeWait(deployment, summary, replicas);
  const { completed, failed, lastCanary } = record ?? {};
  return {
    state,
    revision: metadata.generation,
    ...(completed && { completedRevision: completed.revision }),
    ...(waitsFor !== undefined && { waitsFor }),
    ...(failed && { failure: failed }),
    ...(lastCanary && { lastCanary }),
  };
}

function describeWait(
  { name, rollout }: StoredDeployment,
  summary: ReplicaSummary,
  replicas: readonly ObservedReplica[],
): string | undefined {
  const { updated, refused, wanted, awaited, failing, troubled, unresolved } = summary;
  if (summary.rolling && rollout?.paused === true) return `"moor rollout resume ${name}", because it is paused`;
  if (isHeld(summary)) return 'its dependencies';
  if (refused)
    return `a node for ${refused.unplaced === 1 ? '1 replica' : `${refused.unplaced} replicas`}: ${refused.summary}`;
  if (unresolved) return `its secrets: ${unresolved.message}`;
  // Where the old replicas serve, only what the new ones need counts.
  const trouble = [...awaited, ...failing, ...troubled].find(({ seen }) => updated.includes(seen));
  if (trouble) return `replica ${trouble.seen.replica.slot}: ${trouble.message}`;
  const starting = updated.find(seen => !isServing(seen));
  if (starting) return `replica ${starting.replica.slot} to become ready`;
  const leaving = replicas.find(({ replica, report }) => replica.retiringSince && report?.state !== 'removed');
  if (leaving) return `the container of replica ${leaving.replica.slot} to be stopped and removed`;
  if (summary.canary && updated.length > 0) return 'its canary';
  return updated.length < wanted ? 'the next replica to be started' : undefined;
}

/** The last revision that was complete: what fails afterwards does not make an earlier one of it. */
export function findCompleteRevision(
  { deployment, rollout }: SummaryInput,
  summary: ReplicaSummary,
  previous: DeploymentStatus | undefined,
): number {
  const { uid, generation } = deployment.metadata;
  if (isComplete(summary)) return generation;
  const completed = rollout?.uid === uid ? rollout.completed?.revision : undefined;
  return Math.max(previous?.revision ?? 0, completed ?? 0);
}
