import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import {
  type RotationRecord,
  isRotationOpen,
  type RotationProgress,
  readRotationState,
} from '../../crds/rotation/index.js';
import { completeIntent, type IntentWrite, type SecretIntent } from '../../pkg/material/index.js';
import { again, done, type Reconcile } from '../../pkg/reconcile/index.js';
import type { SecretStore } from '../../pkg/secrets/index.js';
import { type Cache, value } from '../../pkg/store/index.js';

/** How long a request may take before nobody waits for it any more. */
const GRACE_MS = 60_000;

/**
 * Finishes one intent that is older than any request.
 *
 * Ages are told by wall clocks, which may differ. That is safe: an intent that is finished too early makes the request
 * that is still at it fail its guard and begin again.
 */
export function finishIntent(secrets: SecretStore): Reconcile {
  return async (key, env) => {
    const entry = env.cache.get(key);
    if (!entry) return done;
    const intent = value<SecretIntent>(entry);
    const age = env.clock.now() - Date.parse(intent.at);
    if (age < GRACE_MS) return again(GRACE_MS - age, 'the request may still be at it');

    const [tenant = ''] = splitKey(key);
    // A rotation may have taken the number that this intent was promised, just now.
    await env.cache.barrier();
    const claimed = [...storedByOthers(tenant, key, env.cache), ...stagedByRotations(tenant, env.cache)];
    const outcome = await completeIntent({ secrets, commit: change => env.commit(change), claimed }, entry);
    env.log.info('finished an intent', { tenant, deployment: intent.subject, because: intent.state });
    return outcome === 'again' ? again(0, 'marked; now to be undone') : done;
  };
}

function storedByOthers(tenant: string, key: string, cache: Cache): readonly IntentWrite[] {
  const others = cache.list(ranges.of(ranges.intents, tenant)).filter(other => other.key !== key);
  const stored = others.map(other => value<SecretIntent>(other)).filter(({ state }) => state === 'stored');
  return stored.flatMap(({ writes }) => writes);
}

/** The versions that rotations under way have found to be their own. One that has ended needs no number any more. */
function stagedByRotations(tenant: string, cache: Cache): readonly IntentWrite[] {
  return cache.list(ranges.of(ranges.rotations, tenant)).flatMap(entry => {
    const asked = value<RotationRecord>(entry);
    const [, label = ''] = splitKey(entry.key);
    const recorded = cache.get(keys.rotationProgress(tenant, label));
    const progress = recorded && value<RotationProgress>(recorded);
    const isStaged = progress?.id === asked.id && progress.staged;
    return isStaged && isRotationOpen(readRotationState(asked, progress))
      ? [{ path: asked.path, version: asked.to }]
      : [];
  });
}
