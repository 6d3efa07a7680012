import type { Deployment, StoredDeployment } from '../deployment/index.js';
import { computeTemplateHash, hashForm, isUpToDate, type Replica } from '../replica/index.js';
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

/**
 * What a replica is recreated from: the template that was complete last, by its hash, where the replica served for that, else its own.
 * A node that is named or not named any more replaces no existing replica: the hash shows which one was named, not the record.
 */
export function toReplicaForm(
  { templateHash, template, namedNode, nodeId }: Pick<Replica, keyof ReplicaForm | 'nodeId'>,
  completed: string | undefined,
): ReplicaForm {
  const nodes = [...new Set([namedNode, undefined, nodeId])];
  for (const hash of [completed, templateHash]) {
    const at = nodes.findIndex(node => hashForm(template, node) === hash);
    if (at >= 0) return toForm(hash!, template, nodes[at]);
  }
  return toForm(templateHash, template, namedNode);
}

const toForm = (templateHash: string, template: Replica['template'], namedNode: string | undefined): ReplicaForm => ({
  templateHash,
  template,
  ...(namedNode !== undefined && { namedNode }),
});

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
