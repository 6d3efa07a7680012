import type { Deployment, StoredDeployment } from '../deployment/index.js';
import { computeTemplateHash, isUpToDate, type Replica } from '../replica/index.js';
import type { CanaryRecord, ReplicaForm, RolloutRecord } from './record.js';

/** The hash of a template whatever the version of its secrets: a rotation is no new content, and has no canary. */
export function computeContentHash(spec: Deployment): string {
  return computeTemplateHash({ ...spec, secretsVersion: 0 });
}

/** The canary of the present template, while it is held. */
export function findHeldCanary(
  deployment: StoredDeployment,
  record: RolloutRecord | undefined,
): CanaryRecord | undefined {
  const { metadata, rollout } = deployment;
  const canary = record?.uid === metadata.uid ? record.canary : undefined;
  if (!canary || canary.promotedAt !== undefined || !rollout?.canary || metadata.deletedAt) return undefined;
  return canary.contentHash === computeContentHash(deployment) ? canary : undefined;
}

/**
 * Whether a replica is made from the present template. While a canary is held, what it is compared with is not, even where it is already
 * as the deployment wants it, on the node that is named now.
 */
export function isOfPresent(replica: Replica, deployment: Deployment, baseline: ReplicaForm | undefined): boolean {
  return replica.templateHash !== baseline?.templateHash && isUpToDate(replica, deployment);
}

/** What a backup says of a canary that is under way. */
export function toCanaryState(
  deployment: StoredDeployment,
  record: RolloutRecord | undefined,
): Readonly<Record<string, unknown>> | null {
  const canary = findHeldCanary(deployment, record);
  if (!canary) return null;
  const { revision, startedAt, healthy } = canary;
  return {
    revision,
    startedAt,
    healthySince: healthy?.since ?? null,
    completedRevision: record?.completed?.revision ?? null,
  };
}
