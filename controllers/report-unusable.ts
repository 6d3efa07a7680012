import { asError, Fault } from '../pkg/fault/index.js';
import { again, type Loop } from '../pkg/reconcile/index.js';
import { parseQueueKey } from './reading/index.js';

/** How soon a record that cannot be worked with is looked at again: what it refers to may have changed. */
const RETRY_MS = 300_000;

/**
 * The same loop, which gives up no key in silence: a record that it cannot work with becomes an event of that object, and
 * is looked at again when it changes, or later. A fault of the platform is left to the runtime, which retries soon.
 */
export function reportUnusable(loop: Loop): Loop {
  return {
    ...loop,
    reconcile: async (key, env, signal) => {
      try {
        return await loop.reconcile(key, env, signal);
      } catch (thrown) {
        const isRetried = thrown instanceof Fault && thrown.retriable;
        const { tenant, name } = parseQueueKey(key);
        if (isRetried || tenant === '' || name === '') throw thrown;
        const error = asError(thrown);
        env.log.error('a record cannot be worked with', { error });
        const event = await env.events.put({
          type: 'deployment.degraded',
          tenant,
          subject: { kind: 'Deployment', name, id: name },
          severity: 'warning',
          reason: 'record_unusable',
          message: `The loop ${loop.name} cannot work with what is stored of ${name} (${error.message}): send it again, or delete it.`,
        });
        await env.commit({ guards: [{ key: event.key, at: 0 }], puts: [event], deletes: [] });
        return again(RETRY_MS, 'what is stored cannot be worked with');
      }
    },
  };
}
