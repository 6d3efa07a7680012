import type { StoredDeployment } from '../crds/deployment/index.js';
import { keys } from '../crds/keys/index.js';
import { parseJobOwner } from '../crds/replica/index.js';
import { asError, Fault } from '../pkg/fault/index.js';
import { again, done, type Loop, type LoopEnv } from '../pkg/reconcile/index.js';
import { findRecordFault, readValue, value } from '../pkg/store/index.js';
import { parseQueueKey } from './reading/index.js';

/** How soon a record that cannot be worked with is looked at again: what it refers to may have changed. */
const RETRY_MS = 300_000;
/** An error that is not a fault may be a passing one: it is reported when it came so often in a row. */
const REPORTED_AFTER = 3;

/** The failures of a key in a row, all with the same message. */
interface Failures {
  readonly message: string;
  readonly count: number;
}

/**
 * The same loop, whose keys name deployments, which gives up no key in silence: a deployment that it cannot work with gets
 * an event, once for each cause. A fault that a retry cannot fix is retried all the same, slowly; any other failure is
 * left to the runtime, which retries soon.
 */
export function reportUnusable(loop: Loop): Loop {
  const failing = new Map<string, Failures>();
  return {
    ...loop,
    reconcile: async (key, env, signal) => {
      try {
        const result = await loop.reconcile(key, env, signal);
        failing.delete(key);
        return result;
      } catch (thrown) {
        const error = asError(thrown);
        if (error instanceof Fault && error.retriable) throw error;
        const last = failing.get(key);
        const count = last?.message === error.message ? last.count + 1 : 1;
        failing.set(key, { message: error.message, count });
        if (count === (error instanceof Fault ? 1 : REPORTED_AFTER)) await putEvent(loop.name, key, env, error);
        if (!(error instanceof Fault)) throw error;
        return again(RETRY_MS, 'what is stored cannot be worked with');
      }
    },
  };
}

/**
 * The same loop, which leaves a deployment or a job alone whose record cannot be worked with: nothing may be decided from a substitute.
 * Its status says so. One that is to be deleted is worked on.
 */
export function holdUnusable(loop: Loop): Loop {
  return {
    ...loop,
    reconcile: async (key, env, signal) => {
      const { tenant, name } = parseQueueKey(key);
      const job = parseJobOwner(name);
      const entry = env.cache.get(job === undefined ? keys.deployment(tenant, name) : keys.job(tenant, job));
      const isHeld =
        entry && findRecordFault(entry) !== undefined && !value<StoredDeployment>(entry).metadata.deletedAt;
      return isHeld ? done : loop.reconcile(key, env, signal);
    },
  };
}

async function putEvent(loop: string, key: string, env: LoopEnv, error: Error): Promise<void> {
  env.log.error('a record cannot be worked with: send the object again, or delete it', { error });
  const { tenant, name } = parseQueueKey(key);
  const deployment = readValue<StoredDeployment>(env.cache, keys.deployment(tenant, name));
  if (!deployment) return;
  const event = await env.events.put({
    type: 'deployment.degraded',
    tenant,
    subject: { kind: 'Deployment', name, id: deployment.metadata.uid },
    severity: 'warning',
    reason: 'record_unusable',
    message: `The loop ${loop} cannot work with what is stored of ${name} (${error.message}): send it again, or delete it.`,
  });
  await env.commit({ guards: [{ key: event.key, at: 0 }], puts: [event], deletes: [] });
}
