import type { StoredDeployment } from '../crds/deployment/index.js';
import type { StoredJob } from '../crds/job/index.js';
import { keys } from '../crds/keys/index.js';
import { parseJobOwner } from '../crds/replica/index.js';
import { asError, Fault } from '../pkg/fault/index.js';
import type { Loop, LoopEnv } from '../pkg/reconcile/index.js';
import { readValue } from '../pkg/store/index.js';
import {
  isJoined,
  parseTraceparent,
  type Span,
  type SpanAttributes,
  type SpanContext,
  type Tracer,
} from '../pkg/trace/index.js';
import { parseQueueKey } from './reading/index.js';

/** The loops whose keys name deployments and jobs. */
const TRACED: ReadonlySet<string> = new Set([
  'replica-keeper',
  'scheduler',
  'secret-resolver',
  'autoscaler',
  'status-roller',
  'job-runner',
]);

/**
 * The same loop, whose reconciles of a deployment or a job are spans below the request that was accepted last, when that is
 * traced. Only those that changed something or failed: a loop that is woken and finds all well says nothing.
 */
export function traceReconciles(loop: Loop, tracer: Tracer): Loop {
  if (!TRACED.has(loop.name)) return loop;
  return {
    ...loop,
    reconcile: async (key, env, signal) => {
      const cause = findCause(key, env);
      const span = cause && tracer.start(`reconcile ${loop.name}`, 'internal', cause.parent);
      if (!span) return loop.reconcile(key, env, signal);
      let changes = 0;
      const commit: LoopEnv['commit'] = change => {
        changes++;
        return env.commit(change);
      };
      const about = { ...cause.about, 'mooring.loop': loop.name };
      try {
        const result = await loop.reconcile(key, { ...env, commit }, signal);
        if (changes > 0) endSpan(span, { ...about, 'mooring.changes': changes });
        return result;
      } catch (thrown) {
        endSpan(span, { ...about, 'mooring.changes': changes }, asError(thrown));
        throw thrown;
      }
    },
  };
}

/** Another writer that was first is no failure: the key is reconciled once more. */
function endSpan(span: Span, attributes: SpanAttributes, error?: Error): void {
  span.set({ ...attributes, ...(error && { 'error.type': error.name }) });
  span.end({ isFailed: error !== undefined && !(error instanceof Fault && error.retriable) });
}

interface Cause {
  readonly parent: SpanContext;
  readonly about: SpanAttributes;
}

/** The request that a key is worked on for, if it is traced and not long ago. */
function findCause(key: string, { cache, clock }: LoopEnv): Cause | undefined {
  const { tenant, name } = parseQueueKey(key);
  const job = parseJobOwner(name);
  const at = job === undefined ? keys.deployment(tenant, name) : keys.job(tenant, job);
  const metadata = readValue<StoredDeployment | StoredJob>(cache, at)?.metadata;
  const parent = parseTraceparent(metadata?.traceparent);
  if (!metadata || !parent || !isJoined(metadata.updatedAt, clock.now())) return undefined;
  const named = job === undefined ? { 'mooring.deployment': name } : { 'mooring.job': job };
  return { parent, about: { 'mooring.tenant': tenant, ...named } };
}
