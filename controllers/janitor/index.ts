/**
 * The janitor: finishes the work that a crashed process left half done.
 *
 * One part is secret material that came with a record. An intent says how far the write got: if the record was stored,
 * its versions become current; if it can no longer be stored, exactly these versions are destroyed. The other is what grows
 * with all that has happened: of the events and archives of a tenant only so many are kept. And claims to a node that cannot be
 * read are rewritten.
 *
 * @module
 */
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { RotationProgress, RotationRecord } from '../../crds/rotation/index.js';
import { completeIntent, type SecretIntent } from '../../pkg/material/index.js';
import { again, done, type Loop, type Reconcile } from '../../pkg/reconcile/index.js';
import type { SecretStore } from '../../pkg/secrets/index.js';
import { type Cache, findRecordFault, value } from '../../pkg/store/index.js';
import { computeRemainingMs, isContested, listClaimed, type RotationWithProgress } from './decide.js';
import { repairNodeName, wakeOnBrokenName } from './repair-names.js';
import { defaultRetention, retainHistory, type RetentionLimits, retentionWakes } from './retention.js';

/** How long to wait for another request that was promised a version of the same number. */
const CONTESTED_MS = 5_000;

export type { RetentionLimits };

/** The loop. */
export function createJanitor(secrets: SecretStore, limits: RetentionLimits = defaultRetention): Loop {
  const finish = finishIntent(secrets);
  const retain = retainHistory(limits);
  return {
    name: 'janitor',
    wakes: [{ prefix: ranges.intents, keys: ({ key }) => [key] }, wakeOnBrokenName, ...retentionWakes],
    reconcile: (key, env, signal) => {
      if (key.startsWith(ranges.nodeNames)) return repairNodeName(key, env, signal);
      return (key.startsWith(ranges.intents) ? finish : retain)(key, env, signal);
    },
    concurrency: 4,
  };
}

/** Finishes one intent that is older than any request. */
export function finishIntent(secrets: SecretStore): Reconcile {
  return async (key, env) => {
    const entry = env.cache.get(key);
    // Which versions an intent that cannot be read was promised is not known: nothing is destroyed for it.
    if (!entry || findRecordFault(entry) !== undefined) return done;
    const intent = value<SecretIntent>(entry);
    const remainingMs = computeRemainingMs(intent, env.clock.now());
    if (remainingMs > 0) return again(remainingMs, 'the request of the intent may still be running');

    const [tenant = ''] = splitKey(key);
    // A rotation may just have taken the version number that was promised to this intent.
    await env.cache.barrier();
    const others = readOtherIntents(tenant, key, env.cache);
    if (intent.state === 'undoing' && !intent.doomed && isContested(intent, others))
      return again(CONTESTED_MS, 'another request was promised the same version');
    const claimed = listClaimed(others, readRotations(tenant, env.cache));
    const guards = [env.fence];
    const outcome = await completeIntent({ secrets, commit: change => env.commit(change), guards, claimed }, entry);
    if (outcome === 'again') return again(0, 'the intent is marked; its versions are destroyed next');
    env.log.info('finished an intent', { tenant, deployment: intent.subject, phase: intent.state });
    return done;
  };
}

function readOtherIntents(tenant: string, key: string, cache: Cache): readonly SecretIntent[] {
  const others = cache.list(ranges.of(ranges.intents, tenant)).filter(other => other.key !== key);
  return others.map(other => value<SecretIntent>(other));
}

function readRotations(tenant: string, cache: Cache): readonly RotationWithProgress[] {
  return cache.list(ranges.of(ranges.rotations, tenant)).map(entry => {
    const [, label = ''] = splitKey(entry.key);
    const progress = cache.get(keys.rotationProgress(tenant, label));
    return { record: value<RotationRecord>(entry), progress: progress && value<RotationProgress>(progress) };
  });
}
