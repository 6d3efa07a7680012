import type { Delivery, Unresolved } from '../../crds/delivery/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, type ObjectName, splitKey } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import type { SecretVersions, UnresolvedExplanation } from '../../pkg/secrets/index.js';
import { type Change, encode, type Entry, type Guard, value } from '../../pkg/store/index.js';
import type { ObservedReplica } from '../reading/index.js';

/** The change that stamps a replica with the versions that its container is to be made from. */
export function stampVersions({ replica, revision }: ObservedReplica, versions: SecretVersions, env: LoopEnv): Change {
  const key = keys.replica(replica.tenant, replica.deployment, replica.slot);
  const resolved: Replica = { ...replica, resolved: { versions, at: new Date(env.clock.now()).toISOString() } };
  return { guards: [{ key, at: revision }], puts: [{ key, bytes: encode(resolved) }], deletes: [] };
}

/** What is said about a deployment, and what was said before. */
export interface UnresolvedReport {
  readonly deployment: StoredDeployment;
  readonly words: UnresolvedExplanation;
  readonly replicas: number;
  readonly standing: Entry | undefined;
  readonly isNew: boolean;
  /** Holds while it is the same deployment. */
  readonly same: Guard;
}

/** The change that says why replicas have no secrets. */
export async function reportUnresolved(
  { deployment, words, replicas, ...said }: UnresolvedReport,
  env: LoopEnv,
): Promise<Change> {
  const { tenant, uid } = deployment.metadata;
  const key = keys.unresolved(tenant, deployment.name);
  const before = said.standing && value<Unresolved>(said.standing);
  const seen = !said.isNew && before ? env.cache.get(keys.event(tenant, before.event)) : undefined;
  const event = seen
    ? await env.events.again(value<StoredEvent>(seen))
    : await env.events.put({
        type: 'secret.unresolved',
        tenant,
        subject: { kind: 'Deployment', name: deployment.name, id: uid },
        severity: 'warning',
        reason: words.reason,
        message: `${words.message}; no container is created without all of its secrets`,
        data: { replicas },
      });
  const now = new Date(env.clock.now()).toISOString();
  const since = before?.uid === uid ? before.since : now;
  const record: Unresolved = { uid, ...words, replicas, since, lastSeenAt: now, event: splitKey(event.key)[1]! };
  return {
    guards: [{ key, at: said.standing?.revision ?? 0 }, said.same],
    puts: [{ key, bytes: encode(record) }, event],
    deletes: [],
  };
}

/** The change that takes back what was said, or what was given out to replicas that are gone. */
export function clearEntry(entry: Entry): Change {
  return { guards: [{ key: entry.key, at: entry.revision }], puts: [], deletes: [entry.key] };
}

/** Records of what was given out to replicas that are no longer there. */
export function listOrphanedDeliveries(
  deliveries: readonly Entry[],
  replicas: readonly ObservedReplica[],
): readonly Entry[] {
  const present = new Set(replicas.map(({ replica }) => replica.uid));
  return deliveries.filter(entry => !present.has(value<Delivery>(entry).replica));
}

/** Names a deployment in the log. */
export function toLogFields({ tenant, name }: ObjectName): { readonly tenant: string; readonly deployment: string } {
  return { tenant, deployment: name };
}
