import type { Delivery, UnresolvedRecord } from '../../crds/delivery/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, type ObjectName, ranges, splitKey } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import type { SecretIntent } from '../../pkg/material/index.js';
import { again, done, type LoopEnv, type Reconcile, type ReconcileResult } from '../../pkg/reconcile/index.js';
import {
  collectReferences,
  explainUnresolved,
  resolveSecrets,
  type SecretStore,
  type SecretVersions,
  type UnresolvedExplanation,
} from '../../pkg/secrets/index.js';
import { type Change, encode, type Entry, type Guard, value } from '../../pkg/store/index.js';
import { needsResolving, type ObservedReplica, parseQueueKey, readWorkload, toOwnerSubject } from '../reading/index.js';
import { computeRetryMs, decideUnresolvedUpdate, needsStamp, RENEW_MS } from './decide.js';

/**
 * Looks up the secrets of the replicas of one deployment, and stamps the replicas with the versions found or reports why
 * they were not.
 *
 * Replicas of one template share one look-up: all of them resolve or none does. No value is ever held here.
 */
export function resolveDeployment(secrets: SecretStore): Reconcile {
  return async (key, env) => {
    const named = parseQueueKey(key);
    const { deployment, replicas, same } = readWorkload(named, env.cache);
    const orphaned = listOrphanedDeliveries(named, replicas, env);
    await Promise.all(orphaned.map(entry => env.commit(clearEntry(entry))));

    const due = listDue(deployment, replicas);
    if (!deployment || due.length === 0) {
      await clearReport(named, env);
      return done;
    }

    const templates = [...new Set(due.map(({ replica }) => replica.templateHash))];
    const groups = templates.map(template => due.filter(({ replica }) => replica.templateHash === template));
    const outcomes = await Promise.all(groups.map(group => resolveGroup(group, secrets, env)));
    const unresolved = outcomes.find(outcome => outcome !== undefined);
    if (unresolved) return reportUnresolved(unresolved, { deployment, same, replicas: due.length }, env);
    await clearReport(named, env);
    const isStamped = due.some(({ replica }) => replica.resolved !== undefined);
    return isStamped ? again(RENEW_MS, 'an agent could not get the versions that were found') : done;
  };
}

/** Deliveries to replicas that no longer exist. */
function listOrphanedDeliveries(
  { tenant, name }: ObjectName,
  replicas: readonly ObservedReplica[],
  { cache }: LoopEnv,
): readonly Entry[] {
  const present = new Set(replicas.map(({ replica }) => replica.uid));
  const deliveries = cache.list(ranges.deliveriesOf(tenant, name));
  return deliveries.filter(entry => !present.has(value<Delivery>(entry).replica));
}

function listDue(
  deployment: StoredDeployment | undefined,
  replicas: readonly ObservedReplica[],
): readonly ObservedReplica[] {
  if (!deployment || deployment.metadata.deletedAt) return [];
  return replicas.filter(seen => seen.replica.deploymentUid === deployment.metadata.uid && needsResolving(seen));
}

/** Undefined when everything was found. */
async function resolveGroup(
  group: readonly ObservedReplica[],
  secrets: SecretStore,
  env: LoopEnv,
): Promise<UnresolvedExplanation | undefined> {
  const { tenant, template } = group[0]!.replica;
  const resolution = await resolveSecrets(secrets, collectReferences(tenant, template));
  if (resolution.kind !== 'resolved') return explainUnresolved(resolution);
  const now = env.clock.now();
  const stale = group.filter(seen => needsStamp(seen, resolution.versions, now));
  await Promise.all(
    stale.map(async seen => {
      failpoint('resolver.resolved');
      await env.commit(stampVersions(seen, resolution.versions, env));
      failpoint('resolver.stamped');
      env.log.info('secrets resolved', { tenant, deployment: seen.replica.deployment, replica: seen.replica.uid });
    }),
  );
  return undefined;
}

/** The change that stamps a replica with the versions that its container is to be created from. */
function stampVersions({ replica, revision }: ObservedReplica, versions: SecretVersions, env: LoopEnv): Change {
  const key = keys.replica(replica.tenant, replica.deployment, replica.slot);
  const resolved: Replica = { ...replica, resolved: { versions, at: new Date(env.clock.now()).toISOString() } };
  return { guards: [{ key, at: revision }], puts: [{ key, bytes: encode(resolved) }], deletes: [] };
}

/** Deletes the report of a deployment whose replicas have all their secrets, or that is deleted. */
async function clearReport({ tenant, name }: ObjectName, env: LoopEnv): Promise<void> {
  const stored = env.cache.get(keys.unresolved(tenant, name));
  if (stored) await env.commit(clearEntry(stored));
}

function clearEntry({ key, revision }: Entry): Change {
  return { guards: [{ key, at: revision }], puts: [], deletes: [key] };
}

interface UnresolvedSubject {
  readonly deployment: StoredDeployment;
  /** How many replicas have no secrets. */
  readonly replicas: number;
  /** Holds while it is the same deployment. */
  readonly same: Guard;
}

async function reportUnresolved(
  explanation: UnresolvedExplanation,
  subject: UnresolvedSubject,
  env: LoopEnv,
): Promise<ReconcileResult> {
  const { deployment, replicas } = subject;
  const { tenant, uid } = deployment.metadata;
  // Material that comes with a document becomes current right after it: until then it is not missing.
  if (explanation.reason === 'secret_missing' && isBeingWritten(deployment, env.cache)) {
    return again(BEING_WRITTEN_MS, 'its secrets are being written');
  }
  const stored = env.cache.get(keys.unresolved(tenant, deployment.name));
  const report = stored && value<UnresolvedRecord>(stored);
  const own = report?.uid === uid ? report : undefined;
  const now = env.clock.now();
  const update = decideUnresolvedUpdate({ ...explanation, replicas }, own, now);
  if (update !== 'nothing') {
    await env.commit(await buildReport(explanation, subject, stored, update === 'new', env));
    const fields = { tenant, deployment: deployment.name, count: replicas, because: explanation.reason };
    env.log.warn('secrets are unresolved', fields);
  }
  const retryMs = computeRetryMs(own?.since ?? new Date(now).toISOString(), now);
  return again(retryMs, 'the secrets store does not announce its recovery');
}

/** How soon to look again for material that is being written: nothing announces it. */
const BEING_WRITTEN_MS = 500;

function isBeingWritten({ metadata, secrets = [] }: StoredDeployment, cache: LoopEnv['cache']): boolean {
  const paths = new Set(secrets.map(({ vault_path: path }) => path));
  const intents = cache.list(ranges.of(ranges.intents, metadata.tenant)).map(entry => value<SecretIntent>(entry));
  return intents.some(({ writes }) => writes.some(({ path }) => paths.has(path)));
}

/** The change that stores why replicas have no secrets, with a new event or one more count of the last. */
async function buildReport(
  explanation: UnresolvedExplanation,
  { deployment, replicas, same }: UnresolvedSubject,
  stored: Entry | undefined,
  isNew: boolean,
  env: LoopEnv,
): Promise<Change> {
  const { tenant, uid } = deployment.metadata;
  const key = keys.unresolved(tenant, deployment.name);
  const before = stored && value<UnresolvedRecord>(stored);
  const last = !isNew && before ? await env.reads.get(keys.event(tenant, before.event)) : undefined;
  const event = last
    ? await env.events.again(value<StoredEvent>(last))
    : await env.events.put({
        type: 'secret.unresolved',
        tenant,
        subject: toOwnerSubject(deployment.name, uid),
        severity: 'warning',
        reason: explanation.reason,
        message: `${explanation.message}; no container is created without all of its secrets`,
        data: { replicas },
      });
  const now = new Date(env.clock.now()).toISOString();
  const since = before?.uid === uid ? before.since : now;
  const record: UnresolvedRecord = {
    uid,
    ...explanation,
    replicas,
    since,
    lastSeenAt: now,
    event: splitKey(event.key)[1]!,
  };
  return {
    guards: [{ key, at: stored?.revision ?? 0 }, same],
    puts: [{ key, bytes: encode(record) }, event],
    deletes: [],
  };
}
