import type { Replica } from '../../../crds/replica/index.js';
import { parseJobOwner } from '../../../crds/replica/index.js';
import type { Clock } from '../../clock/index.js';
import { inSpan, isJoined, parseTraceparent, type Span, type Tracer } from '../../trace/index.js';
import type { ContainerStatus } from '../engine/index.js';

/**
 * The spans of containers that are made for a request that is traced: each from the first step until the container is healthy,
 * with its steps below it, within the time that belongs to the request. What becomes of a container later is not part of it.
 */
export class StartSpans {
  readonly #env: { readonly tracer?: Tracer | undefined; readonly clock: Clock };
  /** By replica; undefined once the span is over. */
  readonly #spans = new Map<string, Span | undefined>();

  /** Without a tracer there are none. */
  constructor(env: { readonly tracer?: Tracer | undefined; readonly clock: Clock }) {
    this.#env = env;
  }

  /** Takes a step that brings a container up. */
  during(replica: Replica | undefined, step: string, work: () => Promise<void>): Promise<void> {
    const { tracer } = this.#env;
    return tracer && replica?.traceparent !== undefined
      ? inSpan(this.#find(replica, step, tracer), step, work)
      : work();
  }

  /** Ends the span of a container that is as it should be. One whose health is not known yet is not. */
  settle(uid: string, container: Pick<ContainerStatus, 'health'> | undefined): void {
    const span = this.#spans.get(uid);
    if (!span || !container || container.health === 'starting' || container.health === 'unhealthy') return;
    span.end();
    this.#spans.set(uid, undefined);
  }

  /** Ends the span of a container that was given up before it was healthy. */
  forget(uid: string): void {
    this.#spans.get(uid)?.end({ isFailed: true });
    this.#spans.delete(uid);
  }

  #find(replica: Replica, step: string, tracer: Tracer): Span | undefined {
    const { uid, tenant, deployment, nodeId } = replica;
    const isLate = !isJoined(replica.createdAt, this.#env.clock.now());
    if (isLate && this.#spans.get(uid)) this.forget(uid);
    if (this.#spans.has(uid)) return this.#spans.get(uid);
    // A container whose first step is another start was there before this agent.
    const parent = isLate || step === 'restart' ? undefined : parseTraceparent(replica.traceparent);
    const span = parent && tracer.start('start container', 'internal', parent);
    const job = parseJobOwner(deployment);
    span?.set({
      'mooring.tenant': tenant,
      ...(job === undefined ? { 'mooring.deployment': deployment } : { 'mooring.job': job }),
      'mooring.replica': uid,
      ...(nodeId !== undefined && { 'mooring.node': nodeId }),
    });
    this.#spans.set(uid, span);
    return span;
  }
}
