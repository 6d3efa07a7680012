import {
  type CanaryOutcome,
  type Deployment,
  type RolloutFailure,
  type StoredDeployment,
  toSpec,
} from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import type { Reason } from '../../crds/reasons/index.js';
import { computeTemplateHash } from '../../crds/replica/index.js';
import {
  type CanaryRecord,
  type CompletedRollout,
  computeContentHash,
  findHeldCanary,
  type RolloutProgress,
  type RolloutRecord,
} from '../../crds/rollout/index.js';
import type { EventDraft } from '../../pkg/events/index.js';
import { buildRevision, nextMetadata, readRevision, toRollbackSpec } from '../../pkg/history/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { type Change, encode, type Entry, type Guard, type Put } from '../../pkg/store/index.js';
import { explainRefused, listVolumeConflicts } from './explain-refused.js';

/** The deployment and its rollout as they were read: every change is guarded by both. */
export interface RolloutSubject {
  readonly deployment: StoredDeployment;
  readonly unchanged: Guard;
  /** The entry of the stored record, of whichever deployment. */
  readonly stored: Entry | undefined;
  /** The record, when it is of this deployment. */
  readonly record: RolloutRecord | undefined;
  /** What people order of its canary, which is carried out or discarded with the change. */
  readonly order?: Entry | undefined;
}

/** The change that stores a record, guarded by all that it was decided on; an order is carried out or discarded with it. */
export function storeRecord(subject: RolloutSubject, next: RolloutRecord, puts: readonly Put[] = []): Change {
  const { deployment, unchanged, stored, order } = subject;
  const key = keys.rollout(deployment.metadata.tenant, deployment.name);
  return {
    guards: [unchanged, { key, at: stored?.revision ?? 0 }, ...(order ? [{ key: order.key, at: order.revision }] : [])],
    puts: [{ key, bytes: encode(next) }, ...puts],
    deletes: order ? [order.key] : [],
  };
}

/** Records how far the rollout has come; undefined: that it waits for something else. */
export function recordRolloutProgress(subject: RolloutSubject, progress: RolloutProgress | undefined): Change {
  const { progress: _, ...known } = subject.record ?? { uid: subject.deployment.metadata.uid };
  return storeRecord(subject, { ...known, ...(progress && { progress }) });
}

/** Records that the present template is rolled out: a later rollout that fails goes back to it. */
export function recordComplete(subject: RolloutSubject, now: number): Change {
  const { metadata } = subject.deployment;
  const { failed, lastCanary } = subject.record ?? {};
  const completed: CompletedRollout = {
    revision: metadata.generation,
    templateHash: computeTemplateHash(subject.deployment),
    contentHash: computeContentHash(subject.deployment),
    at: new Date(now).toISOString(),
  };
  // A failure of the revision that is complete after all does not hold any more.
  return storeRecord(subject, {
    uid: metadata.uid,
    completed,
    ...(failed && failed.revision !== completed.revision && { failed }),
    ...(lastCanary && { lastCanary }),
  });
}

/** Longer than any write that is judged by what it read before may take. */
const CONFLICT_KEYS_SECONDS = 3_600;

export const toSubject = ({ metadata, name }: StoredDeployment): Pick<EventDraft, 'tenant' | 'subject'> => ({
  tenant: metadata.tenant,
  subject: { kind: 'Deployment', name, id: metadata.uid },
});

/**
 * Records that the rollout has failed, with its event. In the same transaction, where the deployment asks for it, the last
 * complete configuration is stored again as a new revision: a crash leaves both or neither. One that would be refused by now is
 * not stored: the failure says so, and a canary stays as it is. With the conflict keys of its volumes it is judged again when
 * another write mounts or deletes one of them at the same moment.
 *
 * A canary that people abort is no failure, and is rolled back whether or not that is done by itself.
 */
export async function recordFailure(
  subject: RolloutSubject,
  given: RolloutFailure,
  env: LoopEnv,
  orderedBy?: string,
): Promise<Change> {
  const { deployment } = subject;
  const { metadata, rollout } = deployment;
  const isOrdered = orderedBy !== undefined;
  const found = rollout?.autoRollback === false && !isOrdered ? undefined : await findTarget(subject, env);
  const target = found === 'gone' ? undefined : found;
  const back = target?.revision ?? subject.record?.completed?.revision;
  const conflictKeys = target ? listVolumeConflicts(target.spec, metadata.tenant) : [];
  const guards = conflictKeys.map(key => ({ key, at: env.cache.get(key)?.revision ?? 0 }));
  const refused =
    found === 'gone'
      ? `revision ${back} is not kept any more; send its configuration again`
      : target && explainRefused(target.spec, deployment, env.cache);
  const stays = isOrdered
    ? `the canary of revision ${metadata.generation} was not aborted, as ${orderedBy} ordered: ${refused}`
    : `${given.message}; it is not rolled back to revision ${back}: ${refused}`;
  const reasonOfStay = isOrdered ? ('canary_not_aborted' as const) : given.reason;
  const failure = refused === undefined ? given : { ...given, reason: reasonOfStay, message: stays };
  const { exitCode, replica, containerId, containerName, nodeName, reason, message } = failure;
  const data = {
    generation: metadata.generation,
    ...(replica !== undefined && { replica }),
    ...(containerId !== undefined && { containerId }),
    ...(containerName !== undefined && { containerName }),
    ...(nodeName !== undefined && { node: nodeName }),
    ...(exitCode !== undefined && { exitCode }),
  };
  const about = { ...toSubject(deployment), severity: 'warning' } as const satisfies Partial<EventDraft>;
  const failed = await env.events.put({ ...about, type: 'deployment.rollout_failed', reason, message, data });
  const { completed, lastCanary } = subject.record ?? {};
  const next = { uid: metadata.uid, ...(completed && { completed }) };
  const canary = findHeldCanary(deployment, subject.record);
  if (!target || refused !== undefined) {
    const left = canary ? toFailedCanary(canary) : subject.record?.canary;
    const kept = { ...(left && { canary: left }), ...(lastCanary && { lastCanary }) };
    return storeRecord(subject, { ...next, ...kept, failed: failure }, [failed]);
  }

  // A rollback by itself follows from the request that is rolled back.
  const { traceparent } = metadata;
  const toMetadata = (hash: string) => ({
    ...nextMetadata(metadata, hash, env.clock.now()),
    ...(traceparent !== undefined && { traceparent }),
  });
  const built = buildRevision(target.spec, toMetadata, {
    change: 'rollback',
    by: 'replica-keeper',
    operation: `rollback-${metadata.uid}-${metadata.generation}`,
    alterations: [],
    reason: message,
    fromRevision: target.revision,
  });
  const event = await env.events.put({
    ...about,
    type: 'deployment.rolled_back',
    reason: 'rolled_back',
    message: `deployment ${deployment.name} was rolled back to revision ${target.revision}, as revision ${built.metadata.generation}: ${message}`,
    data: { generation: built.metadata.generation, fromRevision: target.revision, failedRevision: metadata.generation },
  });
  const outcome: CanaryOutcome | undefined = canary && { ...pickOutcome(failure), outcome: 'aborted' };
  const aborted = outcome && (await env.events.put(draftOutcome(about, outcome, reason)));
  const ended = outcome ?? lastCanary;
  const lease = conflictKeys.length > 0 ? await env.lease(CONFLICT_KEYS_SECONDS) : undefined;
  const turns = conflictKeys.map(key => ({ key, bytes: encode({ by: built.metadata.uid }), ...(lease && { lease }) }));
  const change = storeRecord(
    subject,
    {
      ...next,
      ...(!isOrdered && { failed: { ...failure, rolledBackTo: target.revision } }),
      ...(ended && { lastCanary: ended }),
    },
    [...built.puts, ...(isOrdered ? [] : [failed]), ...(aborted ? [aborted] : []), ...turns, event],
  );
  return { ...change, guards: [...change.guards, ...guards] };
}

/** No hold runs any more: from now on it waits for an order. */
function toFailedCanary(canary: CanaryRecord): CanaryRecord {
  const { healthy: _, ...rest } = canary;
  return { ...rest, hasFailed: true };
}

/** The event of a canary that is over. */
export function draftOutcome(
  about: Pick<EventDraft, 'tenant' | 'subject'>,
  { revision, outcome, message }: CanaryOutcome,
  reason: Reason,
): EventDraft {
  const isAborted = outcome === 'aborted';
  return {
    ...about,
    type: isAborted ? 'deployment.canary_aborted' : 'deployment.canary_promoted',
    ...(isAborted && { severity: 'warning' as const }),
    reason,
    message,
    data: { generation: revision },
  };
}

const pickOutcome = ({ revision, at, message }: RolloutFailure) => ({ revision, at, message });

/** Revisions before the failed one that are looked at: more are not kept. */
const REVISIONS_MAX = 50;

interface RollbackTarget {
  readonly revision: number;
  readonly spec: Deployment;
}

/**
 * The newest configuration before this one with the template that was complete last; `gone` when it is not kept any more and no canary
 * knows it either. Undefined when nothing was complete, or when it would change nothing.
 */
async function findTarget(
  { deployment, record: known }: RolloutSubject,
  { reads }: Pick<LoopEnv, 'reads'>,
): Promise<RollbackTarget | 'gone' | undefined> {
  const { metadata } = deployment;
  const { completed } = known ?? {};
  if (!completed) return undefined;
  const last = Math.max(completed.revision, metadata.generation - REVISIONS_MAX);
  for (let revision = metadata.generation - 1; revision >= last; revision--) {
    const archived = await readRevision(reads, metadata.tenant, metadata.uid, revision);
    if (!archived || computeTemplateHash(archived.spec) !== completed.templateHash) continue;
    const spec = toRollbackSpec(toSpec(deployment), archived.spec);
    return computeTemplateHash(spec) === computeTemplateHash(deployment) ? undefined : { revision, spec };
  }
  const spec = rebuildBaseline(deployment, known, completed);
  return spec ? { revision: completed.revision, spec } : 'gone';
}

/** The configuration that a canary is compared with, from its replicas. Undefined when they do not have all of it. */
function rebuildBaseline(
  deployment: StoredDeployment,
  known: RolloutRecord | undefined,
  completed: CompletedRollout,
): Deployment | undefined {
  const { template, namedNode } = findHeldCanary(deployment, known)?.baseline ?? {};
  if (!template) return undefined;
  const secrets = (template.secrets ?? []).flatMap(({ name, vault_path }) =>
    (deployment.secrets ?? []).filter(each => each.name === name && each.vault_path === vault_path).slice(0, 1),
  );
  const { secrets: _, ...rest } = template;
  const form = {
    ...rest,
    ...(secrets.length > 0 && { secrets }),
    ...(namedNode !== undefined && { nodeId: namedNode }),
  };
  const spec = toRollbackSpec(toSpec(deployment), { ...form, kind: 'Deployment', name: deployment.name, replicas: 0 });
  const { secretsVersion } = template;
  return computeTemplateHash({ ...spec, secretsVersion }) === completed.templateHash ? spec : undefined;
}
