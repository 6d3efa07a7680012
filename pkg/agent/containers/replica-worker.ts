import { getStopGrace } from '../../../crds/deployment/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { failpoint } from '../../failpoint/index.js';
import { asError } from '../../fault/index.js';
import { again, done, type ReconcileResult } from '../../reconcile/index.js';
import { type AgentEnv, type AgentOptions, STOP_GRACE_SECONDS } from '../agent-env.js';
import { type Attempts, UNCONFIRMED } from './attempts.js';
import { buildContainerSpec } from './container-spec.js';
import type { DiskLimit } from './disk-limit.js';
import { checkHostPorts } from './host-ports.js';
import type { KeptLogs } from '../logs/kept-logs.js';
import { type ContainerMount, EngineRefusedFault, ImageMissingFault, NameConflictFault } from '../engine/index.js';
import { demandImageAllowed } from '../images/image-policy.js';
import { decideNextStep, isStart, OUTDATED, type ReplicaStep, toStepFailure } from './next-step.js';
import type { JoinedNetworks, NodeNetworks } from './networks.js';
import { type NodeVolumes, VolumeHeldFault } from '../node-volumes/node-volumes.js';
import { stopContainer } from './pre-stop.js';
import { pullImage } from '../images/pull-image.js';
import type { PulledImages } from '../images/pulled-images.js';
import { ReplicaReporter, type ReporterParts } from './replica-reporter.js';
import { SecretFetcher, type SecretFetcherParts } from './secret-fetcher.js';
import type { SlotTemplate } from './start-history.js';
import type { StartSpans } from './start-spans.js';

/** How soon a replica is looked at again that something else has to make room for. */
const SOON_MS = 300;
const STEPS_MAX = 12;
/** How long a pull may report nothing, beyond what any step may take: large layers are unpacked in silence. */
const PULL_SILENCE_MS = 30_000;

export interface WorkerParts extends SecretFetcherParts, ReporterParts {
  readonly kept: KeptLogs;
  readonly attempts: Attempts;
  readonly images: PulledImages;
  readonly diskLimit: DiskLimit;
  readonly networks: NodeNetworks;
  readonly volumes: NodeVolumes;
  readonly spans: StartSpans;
  /** Waits for what may take as long as a deployment says, without keeping other replicas from being worked on. */
  readonly runAside: (act: () => Promise<void>) => Promise<void>;
}

/**
 * Brings the container of one replica to its desired state, step by step.
 *
 * It may be called at any time. It decides by the current knowledge, and after a call with unknown outcome it lists the
 * containers before it decides.
 */
export class ReplicaWorker {
  readonly #env: AgentEnv;
  readonly #options: AgentOptions;
  readonly #parts: WorkerParts;
  readonly #fetcher: SecretFetcher;
  readonly #reporter: ReplicaReporter;

  constructor(env: AgentEnv, options: AgentOptions, parts: WorkerParts) {
    this.#env = env;
    this.#options = options;
    this.#parts = parts;
    this.#fetcher = new SecretFetcher(parts);
    this.#reporter = new ReplicaReporter(env, parts);
  }

  /** Works until nothing is left to do for now. Throws to be retried later. */
  async work(uid: string): Promise<ReconcileResult> {
    const { assignments, view, history, attempts } = this.#parts;
    if (!view.isListed) return done; // the first list queues every replica
    await view.refresh(uid);

    let imageMissing = false;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      const container = view.get(uid);
      if (container) history.observe(uid, container.owner, container);
      const slot = this.#findSlot(uid);
      const wanted = assignments.wanted(uid, container?.owner);
      if (container && wanted === 'run') await this.#reporter.recordOutput(container);
      const restarts = history.restarts(uid);
      const step = decideNextStep({
        wanted,
        container,
        imageMissing,
        backoffMs: slot ? history.backoffMs(slot) : 0,
        isSlotTaken: view.hasOtherOf(assignments.get(uid)),
        isOverDisk: container !== undefined && this.#parts.diskLimit.findExcess(container) !== undefined,
        attempt: await attempts.observe(assignments.get(uid), container),
      });
      try {
        const next = await this.#take(uid, step);
        if (next) return next;
        imageMissing = false;
      } catch (thrown) {
        if (!(thrown instanceof ImageMissingFault)) return this.#onFailure(uid, step, asError(thrown), restarts);
        imageMissing = true;
      }
    }
    return again(SOON_MS, 'the container keeps changing');
  }

  /** Takes one step. Undefined when another may follow at once. */
  async #take(uid: string, step: ReplicaStep): Promise<ReconcileResult | undefined> {
    const { spans, assignments } = this.#parts;
    switch (step.kind) {
      case 'leave':
        return done;
      case 'settled':
        return this.#settle(uid);
      case 'backoff':
        this.#reporter.reportBackoff(uid, this.#findSlot(uid));
        return again(step.ms, 'the slot waits for its start back-off');
      case 'refuse':
        this.#reporter.report(uid, 'failed', OUTDATED);
        return done;
      case 'wait':
        return again(SOON_MS, 'another container of the slot has to be removed first');
      case 'confirm':
        this.#parts.view.markChanged(uid);
        return again(SOON_MS, 'the engine has to show whether it has started an attempt');
      case 'abandon':
        await this.#parts.attempts.noteFailure(uid, UNCONFIRMED);
        return undefined;
      case 'gone':
        return this.#onGone(uid);
      case 'pull':
      case 'create':
      case 'start':
      case 'restart':
        await spans.during(assignments.get(uid), step.kind, this.#bringUp.bind(this, uid, step.kind));
        return undefined;
      case 'stop':
      case 'remove':
        await this.#takeDown(uid, step.kind);
        return undefined;
      case 'interrupt':
        await this.#interrupt(uid);
        return undefined;
      case 'discard':
        return this.#discard(uid);
    }
  }

  /** Stops an attempt that may not go on. Why is on disk before the engine is asked. */
  async #interrupt(uid: string): Promise<void> {
    const { assignments, attempts, view, diskLimit } = this.#parts;
    const replica = assignments.get(uid);
    const container = view.get(uid);
    if (!replica || !container) return;
    await attempts.noteStop(replica, diskLimit.describe(container, 'stopped'));
    await this.#takeDown(uid, 'stop');
  }

  /** Reports a replica that is as it should be: it runs, or it is an attempt that has ended. */
  #settle(uid: string): ReconcileResult {
    const { assignments, view, attempts } = this.#parts;
    const replica = assignments.get(uid);
    const container = view.get(uid);
    this.#parts.spans.settle(uid, container);
    if (!replica?.once) this.#reporter.reportStatus(uid);
    else attempts.report(replica, container, this.#reporter);
    const leftMs = attempts.countLeft(replica, container);
    return Number.isFinite(leftMs) ? again(Math.max(1, leftMs), 'an attempt is stopped when its time is over') : done;
  }

  /** Removes a container that has written too much. A restarted one would have all of it still: a fresh one follows. */
  async #discard(uid: string): Promise<ReconcileResult | undefined> {
    const { view, history, diskLimit } = this.#parts;
    const container = view.get(uid);
    const slot = this.#findSlot(uid);
    if (!container || !slot) return undefined;
    const message = diskLimit.describe(container, 'removed, and a fresh one follows') ?? '';
    if (container.state === 'running') await this.#takeDown(uid, 'stop');
    await history.countRestart(uid, slot);
    await this.#takeDown(uid, 'remove');
    const retry = this.#reporter.scheduleRetry(uid, slot);
    this.#reporter.report(uid, 'failed', { reason: 'disk_limit_exceeded', message, ...(retry && { retry }) });
    this.#env.log.warn('removed a container that wrote too much', { replica: uid, container: container.id });
    return again(history.backoffMs(slot), 'disk_limit_exceeded');
  }

  async #bringUp(uid: string, step: 'pull' | 'create' | 'start' | 'restart'): Promise<void> {
    const { engine, log } = this.#env;
    const { assignments, view, history } = this.#parts;
    const replica = assignments.get(uid);
    if (!replica) return; // unassigned meanwhile: the next decision differs
    const { image } = replica.template;
    const isInPlace = step === 'restart' && !engine.startsOnce;
    if (!isInPlace)
      await demandImageAllowed(this.#env, assignments.policy.registries, { image, isPull: step === 'pull' });
    if (step === 'pull') {
      log.info('pulling image', { replica: uid, image });
      const parts = { engine, images: this.#parts.images, fetchLogin: (of: Replica) => this.#fetcher.fetchLogin(of) };
      return this.#reporter.reportIfSlow(uid, { state: 'pulling', allowedMs: PULL_SILENCE_MS }, onProgress =>
        pullImage(replica, { ...parts, onProgress }),
      );
    }
    checkHostPorts(replica, this.#options.reservedHostPorts ?? []);
    const mounts = await this.#parts.volumes.prepare(replica, view.containers);
    if (step === 'restart') await history.countRestart(uid, replica); // not while it waits for a volume
    if (step === 'restart' && !isInPlace) await this.#takeDown(uid, 'remove');
    const joined = await this.#parts.networks.prepare(replica, view.get(uid));
    if (step !== 'start' && !isInPlace) await this.#make(replica, mounts, joined);
    if (step === 'create') return;
    const { id = '' } = view.get(uid) ?? {};
    if (replica.once) {
      await this.#parts.attempts.noteStart(uid);
      failpoint('agent.attempt_noted');
    }
    try {
      await this.#reporter.reportIfSlow(uid, { state: 'creating' }, () => engine.start(id));
    } catch (thrown) {
      const isRefused = thrown instanceof EngineRefusedFault || thrown instanceof NameConflictFault;
      if (replica.once && isRefused) return this.#parts.attempts.noteFailure(uid, toStepFailure(step, thrown)!);
      // A container that never started may refer to a deleted network: the next attempt creates a fresh one.
      if (step === 'start' && thrown instanceof EngineRefusedFault) await engine.remove(id);
      throw thrown;
    }
    failpoint('agent.started');
    await view.inspect(uid, id);
    log.info('container started', { replica: uid, deployment: replica.deployment, container: id });
  }

  async #make(replica: Replica, mounts: readonly ContainerMount[], joined: JoinedNetworks | undefined): Promise<void> {
    const { engine, log } = this.#env;
    const { assignments, view, node, images } = this.#parts;
    const { uid } = replica;
    await images.demand(replica.template.image, engine);
    const secrets = await this.#fetcher.fetchSecrets(replica, () => this.#reporter.reportNoContainer(uid));
    failpoint('agent.secrets_fetched');
    const { namePrefix: prefix = '' } = this.#options;
    const known = { nodeId: node.id, prefix, secrets, mounts };
    const { restoreEpoch } = assignments;
    const order = buildContainerSpec(replica, { ...known, restoreEpoch, ...(joined && { joined }) });
    const id = await this.#reporter.reportIfSlow(uid, { state: 'creating' }, () => engine.create(order));
    failpoint('agent.created');
    const { name, owner } = order;
    view.set(uid, { id, name, owner, state: 'created', health: 'none', exitCode: undefined });
    log.info('container created', { replica: uid, deployment: replica.deployment, container: id });
  }

  async #takeDown(uid: string, step: 'stop' | 'remove'): Promise<void> {
    const { engine, log } = this.#env;
    const { view } = this.#parts;
    const { id = '' } = view.get(uid) ?? {};
    if (step === 'stop') {
      failpoint('agent.stopping');
      const { template } = this.#parts.assignments.get(uid) ?? {};
      const grace = (template && getStopGrace(template)) ?? this.#options.stopGraceSeconds ?? STOP_GRACE_SECONDS;
      const slow = { state: 'stopping', allowedMs: grace * 1000 } as const;
      const stop = () => stopContainer(this.#env, { replica: uid, container: id, command: template?.preStop, grace });
      await this.#parts.runAside(() => this.#reporter.reportIfSlow(uid, slow, stop));
      failpoint('agent.stopped');
      await view.inspect(uid, id);
    } else {
      const container = view.get(uid);
      if (container) await this.#parts.kept.keep(container);
      await this.#reporter.reportIfSlow(uid, { state: 'stopping' }, () => engine.remove(id));
      failpoint('agent.removed');
      view.set(uid, undefined);
      log.info('container removed', { replica: uid, container: id });
    }
  }

  async #onGone(uid: string): Promise<ReconcileResult> {
    const { assignments, view, history, outbox } = this.#parts;
    await history.forget(uid, this.#findSlot(uid));
    this.#parts.spans.forget(uid);
    this.#reporter.report(uid, 'removed');
    if (assignments.get(uid)) return done; // the assignment stays until the control plane has read the report
    outbox.forget(uid);
    view.forget(uid);
    this.#reporter.forget(uid);
    return done;
  }

  /** Returns how long the slot must wait, or throws to be retried when it is not the start that failed. */
  async #onFailure(uid: string, step: ReplicaStep, error: Error, restarts: number): Promise<ReconcileResult> {
    const { view, history } = this.#parts;
    view.markUncertain(uid);
    const failure = toStepFailure(step.kind, error);
    const code = failure?.reason ?? error.name;
    this.#env.log.warn('container step failed, retrying', { replica: uid, phase: step.kind, code, error });
    if (error.cause instanceof Error) this.#env.log.debug('what the engine said', { replica: uid, error: error.cause });
    const slot = this.#findSlot(uid);
    if (failure && !isStart(step.kind)) this.#reporter.report(uid, 'stopping', failure);
    if (!failure || !slot || !isStart(step.kind)) throw error;
    if (error instanceof VolumeHeldFault) {
      this.#reporter.report(uid, 'creating', failure);
      return again(error.againMs, code);
    }
    if (history.restarts(uid) === restarts) await history.countFailure(slot); // else this restart is counted already
    const retry = this.#reporter.scheduleRetry(uid, slot);
    this.#reporter.report(uid, 'failed', { ...failure, ...(retry && { retry }) });
    return again(history.backoffMs(slot), code);
  }

  /** The slot of a replica, from its assignment or its container. */
  #findSlot(uid: string): SlotTemplate | undefined {
    const { assignments, view } = this.#parts;
    return assignments.get(uid) ?? view.get(uid)?.owner;
  }
}
