import type { Deployment, StoredDeployment } from '../deployment/index.js';
import { computeTemplateHash } from '../replica/index.js';
import type { CanaryRecord, RolloutRecord } from './record.js';

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
