import { setMaxListeners } from 'node:events';

import { kinds } from '../crds/kinds/index.js';
import { type Kind, listChangedFields } from '../crds/kind/index.js';
import type { Client } from '../pkg/client/index.js';
import { type Clock, type Random, sleep } from '../pkg/clock/index.js';
import { asError, Fault } from '../pkg/fault/index.js';
import type { Logger } from '../pkg/log/index.js';
import type { Metrics } from '../pkg/metrics/index.js';
import { done, type ReconcileResult, WorkQueue } from '../pkg/reconcile/index.js';
import { type FaceEvent, isRecent, toClusterEvent, writeEvent } from './events.js';
import { type MirrorSide, OvertakenFault } from './mirror-side.js';
import { LeaseHolder, nameLease } from './lease.js';
import type { MirroredKind, MirroredObject } from './mirror.js';
import { formatKey, type MirrorTarget, type MirrorEnv, reconcileObject } from './reconcile.js';
import { copySecret, formatSecretKey, type SecretMapping } from './secrets.js';

const LOOP = 'bridge';
const NOTES = 'mooring-bridge-secrets';
const RETRY_MS = 1_000;
/** Events of one object that wait to be written. */
const EVENTS_MAX = 50;

/** What ran once is not run again, and what held data is not recreated without it. */
const MADE_ONCE: ReadonlySet<string> = new Set(['jobs', 'volumes']);

/** The kinds that have custom resource definitions. */
const mirroredKinds: readonly MirroredKind[] = (kinds as readonly Kind[])
  .filter(({ kubernetes }) => kubernetes !== undefined)
  .map(each => ({
    plural: each.plural,
    kind: each.kind,
    changed: listChangedFields(each),
    isMadeAgain: !MADE_ONCE.has(each.plural),
  }));

export interface BridgeOptions {
  readonly cluster: MirrorSide;
  readonly mooring: MirrorSide;
  /** Mooring's own API, for one tenant: secrets are written there. */
  readonly connect: (tenant: string) => Client;
  readonly namespaces: readonly { readonly namespace: string; readonly tenant: string }[];
  readonly secrets: readonly SecretMapping[];
  /** How often everything is compared, whether a watch reported a change or not. */
  readonly resyncSeconds: number;
  readonly lease: { readonly namespace: string; readonly holder: string; readonly seconds: number };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: Metrics;
}

/** Another bridge may have taken over: nothing more is written. */
class LeadLostFault extends Fault {
  readonly retriable = true;
}

/** Mirrors the objects of a cluster into Mooring, while it has the lease. */
export class KubernetesBridge {
  readonly #options: BridgeOptions;
  readonly #lease: LeaseHolder;
  readonly #env: MirrorEnv;
  readonly #events = new Map<string, Map<string, FaceEvent>>();

  constructor(options: BridgeOptions) {
    this.#options = options;
    const { cluster, clock, lease, namespaces } = options;
    this.#lease = new LeaseHolder({ api: cluster, clock, name: nameLease(namespaces), ...lease });
    const checkLead = () => {
      if (!this.#lease.isLeading) throw new LeadLostFault('another bridge may have the lease');
    };
    this.#env = { ...options, checkLead };
  }

  /** Runs until the signal is aborted, leading or standing by. */
  async run(signal: AbortSignal): Promise<void> {
    let logged: string | undefined;
    while (!signal.aborted) {
      await this.#tryLead();
      const { holder } = this.#lease;
      if (this.#lease.isLeading) await this.#lead(signal);
      else if (holder !== logged)
        this.#options.log.info('the bridge stands by', { loop: LOOP, because: `${holder} leads` });
      logged = holder;
      await sleep(this.#options.clock, this.#renewMs, signal);
    }
  }

  get #renewMs(): number {
    return (this.#options.lease.seconds * 1000) / 5;
  }

  async #tryLead(): Promise<void> {
    try {
      await this.#lease.attempt();
    } catch (thrown) {
      this.#options.log.warn(
        'the lease of the bridge cannot be renewed, retrying: check that the cluster answers and that its Role allows leases',
        { loop: LOOP, error: asError(thrown) },
      );
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { log, metrics, clock, random, namespaces } = this.#options;
    log.info('the bridge leads', { loop: LOOP });
    metrics?.set('mooring_loop_leader', { loop: LOOP }, 1);
    const stop = new AbortController();
    const queue = new WorkQueue(key => this.#reconcile(key), {
      clock,
      random,
      concurrency: 4,
      onDepth: keys => metrics?.set('mooring_queue_depth', { loop: LOOP }, keys),
      onStart: (_key, ms) => metrics?.observe('mooring_queue_wait_seconds', { loop: LOOP }, ms / 1000),
    });
    const ended = AbortSignal.any([signal, stop.signal]);
    setMaxListeners(0, ended); // every list that is followed listens
    const following = namespaces.flatMap(({ namespace, tenant }) =>
      this.#followNamespace(queue, namespace, tenant, ended),
    );
    const copying = this.#options.secrets.map(mapping => this.#followSecret(queue, mapping, ended));
    while (this.#lease.isLeading && !signal.aborted) {
      await sleep(clock, this.#renewMs, ended);
      if (!signal.aborted) await this.#tryLead();
    }
    stop.abort();
    await queue.stop(0);
    await Promise.all([...following, ...copying]);
    await this.#lease.release().catch(() => undefined);
    this.#events.clear();
    metrics?.set('mooring_loop_leader', { loop: LOOP }, 0);
    log.info('the bridge does not lead any more', { loop: LOOP });
  }

  #followNamespace(queue: WorkQueue, namespace: string, tenant: string, signal: AbortSignal): readonly Promise<void>[] {
    const { cluster, mooring, clock } = this.#options;
    const enqueue = (kind: MirroredKind, name: string) => {
      queue.add(formatKey({ kind, namespace, tenant, name }));
    };
    const objects = mirroredKinds.flatMap(kind =>
      [
        [cluster, namespace] as const,
        // What exists only in Mooring is not the bridge's: the reconcile finds nothing in the cluster and leaves it.
        [mooring, tenant] as const,
      ].map(([api, place]) =>
        this.#follow<MirroredObject>(api, `/apis/mooring.io/v1/namespaces/${place}/${kind.plural}`, signal, object =>
          enqueue(kind, object.metadata.name),
        ),
      ),
    );
    const events = this.#follow<FaceEvent>(mooring, `/api/v1/namespaces/${tenant}/events`, signal, event => {
      const kind = mirroredKinds.find(each => each.kind === event.involvedObject.kind);
      if (!kind || !isRecent(event, clock.now())) return;
      const { name } = event.involvedObject;
      const key = formatKey({ kind, namespace, tenant, name });
      const waiting = this.#events.get(key) ?? new Map<string, FaceEvent>();
      if (waiting.size < EVENTS_MAX) this.#events.set(key, waiting.set(event.metadata.name, event));
      enqueue(kind, name);
    });
    return [...objects, events];
  }

  #followSecret(queue: WorkQueue, mapping: SecretMapping, signal: AbortSignal): Promise<void> {
    const { namespace, name } = mapping;
    const path = `/api/v1/namespaces/${namespace}/secrets?fieldSelector=metadata.name%3D${name}`;
    return this.#follow<object>(this.#options.cluster, path, signal, () => queue.add(formatSecretKey(mapping)));
  }

  /** Lists and watches again and again: the list is the resync. */
  async #follow<T>(api: MirrorSide, path: string, signal: AbortSignal, onObject: (object: T) => void): Promise<void> {
    const { clock, log, resyncSeconds } = this.#options;
    while (!signal.aborted) {
      try {
        await api.follow(path, resyncSeconds, onObject, { clock, signal });
      } catch (thrown) {
        if (!signal.aborted)
          log.warn(
            'a list cannot be followed, retrying: check that this API answers and allows the bridge to list and watch it',
            { loop: LOOP, key: path, error: asError(thrown) },
          );
      }
      await sleep(clock, RETRY_MS, signal);
    }
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const { clock, metrics, log } = this.#options;
    const began = clock.monotonic();
    const measure = (result: string) =>
      metrics?.observe('mooring_reconcile_seconds', { loop: LOOP, result }, (clock.monotonic() - began) / 1000);
    try {
      const secret = this.#options.secrets.find(each => formatSecretKey(each) === key);
      const at = secret ? undefined : this.#readKey(key);
      const notes = { namespace: this.#options.lease.namespace, name: NOTES };
      if (secret) await copySecret({ ...this.#options, ...this.#env, notes }, secret);
      else if (at) await this.#mirror(key, at);
      measure('done');
      return done;
    } catch (thrown) {
      measure('retry');
      metrics?.count('mooring_reconcile_retries_total', { loop: LOOP });
      const isOrdinary = thrown instanceof OvertakenFault || thrown instanceof LeadLostFault;
      if (!isOrdinary)
        log.warn('an object could not be mirrored, retrying', { loop: LOOP, key, error: asError(thrown) });
      throw thrown;
    }
  }

  /** The reverse of `formatKey`: names that were seen once need not be kept. */
  #readKey(key: string): MirrorTarget | undefined {
    const [namespace = '', plural = '', name = ''] = key.split('/');
    const mapped = this.#options.namespaces.find(each => each.namespace === namespace);
    const kind = mirroredKinds.find(each => each.plural === plural);
    return mapped && kind && { kind, namespace, tenant: mapped.tenant, name };
  }

  async #mirror(key: string, at: MirrorTarget): Promise<void> {
    const object = await reconcileObject(this.#env, at);
    const waiting = this.#events.get(key);
    for (const event of waiting?.values() ?? []) {
      const copy = object && toClusterEvent(event, at.namespace, object);
      if (copy) {
        this.#env.checkLead();
        await writeEvent(this.#options.cluster, at.namespace, copy);
      }
      if (waiting?.get(event.metadata.name) === event) waiting.delete(event.metadata.name);
    }
    if (waiting?.size === 0) this.#events.delete(key);
  }
}
