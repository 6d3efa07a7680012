import type { Unresolved } from '../../crds/delivery/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, type ObjectName, ranges } from '../../crds/keys/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { again, done, type LoopEnv, type ReconcileResult, type Reconcile } from '../../pkg/reconcile/index.js';
import {
  explainUnresolved,
  collectReferences,
  resolveSecrets,
  type SecretStore,
  type UnresolvedExplanation,
} from '../../pkg/secrets/index.js';
import { value } from '../../pkg/store/index.js';
import { type ObservedDeployment, parseQueueKey, readDeployment, type ObservedReplica } from '../reading/index.js';
import { reportUnresolved, toLogFields, clearEntry, listOrphanedDeliveries, stampVersions } from './changes.js';
import { decideUnresolvedUpdate, needsResolving, computeRetryMs, needsStamp, RENEW_MS } from './decide.js';

/**
 * Looks up what the replicas of one deployment refer to, and stamps them with the versions found, or says why not.
 *
 * Replicas of one template share one look-up: all of them resolve or none does. Nothing here ever holds a value.
 */
export function resolveDeployment(secrets: SecretStore): Reconcile {
  return async (key, env) => {
    const named = parseQueueKey(key);
    const reading = readDeployment(named, env.cache);
    const gone = listOrphanedDeliveries(
      env.cache.list(ranges.deliveriesOf(named.tenant, named.name)),
      reading.replicas,
    );
    await Promise.all(gone.map(entry => env.commit(clearEntry(entry))));

    const due = dueIn(reading);
    if (!reading.deployment || due.length === 0) {
      await takeBack(named, env);
      return done;
    }

    const templates = [...new Set(due.map(({ replica }) => replica.templateHash))];
    const groups = templates.map(template => due.filter(({ replica }) => replica.templateHash === template));
    const outcomes = await Promise.all(groups.map(group => resolveGroup(group, secrets, env)));
    const unresolved = outcomes.find(outcome => outcome !== undefined);
    if (!unresolved) {
      await takeBack(named, env);
      const isKnown = due.some(({ replica }) => replica.resolved !== undefined);
      return isKnown ? again(RENEW_MS, 'an agent could not get the versions that were found') : done;
    }
    return say(unresolved, { deployment: reading.deployment, same: reading.same, replicas: due.length }, env);
  };
}

function dueIn({ deployment, replicas }: ObservedDeployment): readonly ObservedReplica[] {
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

/** Takes back what was said about a deployment of which nothing is to be said any more. */
async function takeBack(named: ObjectName, env: LoopEnv): Promise<void> {
  const standing = env.cache.get(keys.unresolved(named.tenant, named.name));
  if (standing) await env.commit(clearEntry(standing));
}

interface Subject extends Pick<ObservedDeployment, 'same'> {
  readonly deployment: StoredDeployment;
  readonly replicas: number;
}

async function say(words: UnresolvedExplanation, subject: Subject, env: LoopEnv): Promise<ReconcileResult> {
  const { tenant, uid } = subject.deployment.metadata;
  const named = { tenant, name: subject.deployment.name };
  const standing = env.cache.get(keys.unresolved(tenant, named.name));
  const before = standing && value<Unresolved>(standing);
  const own = before?.uid === uid ? before : undefined;
  const now = env.clock.now();
  const saying = decideUnresolvedUpdate({ ...words, replicas: subject.replicas }, own, now);
  if (saying !== 'nothing') {
    await env.commit(await reportUnresolved({ ...subject, words, standing, isNew: saying === 'new' }, env));
    env.log.warn('secrets are unresolved', { ...toLogFields(named), count: subject.replicas, because: words.reason });
  }
  return again(
    computeRetryMs(own?.since ?? new Date(now).toISOString(), now),
    'the secrets store does not announce its recovery',
  );
}
