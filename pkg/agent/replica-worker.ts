import type { Replica } from '../../crds/replica/index.js';
import type { ContainerState, Report } from '../../crds/report/index.js';
import { failpoint } from '../failpoint/index.js';
import { asError } from '../fault/index.js';
import type { EnvironmentRequest, NodeIdentity } from '../link/index.js';
import { again, done, type ReconcileResult } from '../reconcile/index.js';
import type { Secret } from '../secrets/index.js';
import { type AgentEnv, type AgentOptions, STOP_GRACE_SECONDS } from './agent-env.js';
import type { Assignments } from './assignments.js';
import { buildContainerSpec } from './container-spec.js';
import type { ContainerView } from './container-view.js';
import { checkHostPorts } from './host-ports.js';
import { EngineRefusedFault, ImageMissingFault } from './engine/index.js';
import { demandImageAllowed } from './image-policy.js';
import { decideNextStep, MissingTicketFault, type ReplicaStep, toStepFailure } from './next-step.js';
import type { Outbox } from './outbox.js';
import type { SlotTemplate, StartHistory } from './start-history.js';

const SLOW_STEP_MS = 300;
/** After a failure, a step is reported only when it takes this long: reports must not alternate with each attempt. */
const SLOW_RETRY_MS = 5_000;
const STEPS_MAX = 12;

export interface WorkerParts {
  readonly node: NodeIdentity;
  readonly assignments: Assignments;
  readonly view: ContainerView;
  readonly history: StartHistory;
  readonly outbox: Outbox;
  readonly requestSecrets: (request: EnvironmentRequest) => Promise<ReadonlyMap<string, Secret>>;
  /** Restarts the assignment stream: its snapshot carries fresh tickets. */
  readonly requestTickets: () => void;
}

type ReportDetails = Partial<Pick<Report, 'health' | 'containerId' | 'exitCode' | 'reason' | 'message'>>;

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

  constructor(env: AgentEnv, options: AgentOptions, parts: WorkerParts) {
    this.#env = env;
    this.#options = options;
    this.#parts = parts;
  }

  /** Works until nothing is left to do for now. Throws to be retried later. */
  async work(uid: string): Promise<ReconcileResult> {
    const { assignments, view, history } = this.#parts;
    if (!view.isListed) return done; // the first list queues every replica
    await view.refresh(uid);

    let imageMissing = false;
    for (let steps = 0; steps < STEPS_MAX; steps++) {
      const container = view.get(uid);
      if (container) history.observe(uid, container.owner, container);
      const slot = this.#findSlot(uid);
      const backoffMs = slot ? history.backoffMs(slot) : 0;
      const step = decideNextStep({
        wanted: assignments.wanted(uid, container?.owner),
        container,
        imageMissing,
        backoffMs,
        isSlotTaken: view.hasOtherOf(assignments.get(uid)),
      });
      try {
        const next = await this.#take(uid, step);
        if (next) return next;
        imageMissing = false;
      } catch (thrown) {
        if (!(thrown instanceof ImageMissingFault)) return this.#onFailure(uid, step, asError(thrown));
        imageMissing = true;
      }
    }
    return again(SLOW_STEP_MS, 'the container keeps changing');
  }

  /** Takes one step. Undefined when another may follow at once. */
  async #take(uid: string, step: ReplicaStep): Promise<ReconcileResult | undefined> {
    switch (step.kind) {
      case 'leave':
        return done;
      case 'settled':
        this.#reportStatus(uid);
        return done;
      case 'backoff':
        this.#reportBackoff(uid);
        return again(step.ms, 'the slot waits for its start back-off');
      case 'refuse':
        this.#report(uid, 'failed', {
          reason: 'assignment_outdated',
          message:
            'this node already received a newer generation of this slot; if etcd was restored from a backup, run moor admin restore',
        });
        return done;
      case 'wait':
        return again(SLOW_STEP_MS, 'another container of the slot has to be removed first');
      case 'gone':
        return this.#onGone(uid);
      case 'pull':
      case 'create':
      case 'start':
      case 'restart':
        await this.#bringUp(uid, step.kind);
        return undefined;
      case 'stop':
      case 'remove':
        await this.#takeDown(uid, step.kind);
        return undefined;
    }
  }

  async #bringUp(uid: string, step: 'pull' | 'create' | 'start' | 'restart'): Promise<void> {
    const { engine, log } = this.#env;
    const { assignments, view, history, node } = this.#parts;
    const replica = assignments.get(uid);
    if (!replica) return; // unassigned meanwhile: the next decision differs
    const { image } = replica.template;

    const { registries } = assignments.policy;
    if (step !== 'restart') await demandImageAllowed(this.#env, registries, { image, isPull: step === 'pull' });
    if (step === 'pull') {
      log.info('pulling image', { replica: uid, image });
      return this.#reportIfSlow(uid, 'pulling', () => engine.pull(image));
    }
    checkHostPorts(replica, this.#options.reservedHostPorts ?? []);
    if (step === 'create') {
      const secrets = await this.#fetchSecrets(replica);
      failpoint('agent.secrets_fetched');
      const { namePrefix: prefix = '' } = this.#options;
      const { restoreEpoch } = assignments;
      const order = buildContainerSpec(replica, {
        nodeId: node.id,
        prefix,
        others: view.containers,
        secrets,
        restoreEpoch,
      });
      const id = await this.#reportIfSlow(uid, 'creating', () => engine.create(order));
      failpoint('agent.created');
      const { name, owner } = order;
      view.set(uid, { id, name, owner, state: 'created', health: 'none', exitCode: undefined });
      log.info('container created', { replica: uid, deployment: replica.deployment, container: id });
      return;
    }
    const { id = '' } = view.get(uid) ?? {};
    if (step === 'restart') await history.countRestart(uid, replica);
    try {
      await this.#reportIfSlow(uid, 'creating', () => engine.start(id));
    } catch (thrown) {
      // A container that never started may refer to a deleted network: the next attempt creates a fresh one.
      if (step === 'start' && thrown instanceof EngineRefusedFault) await engine.remove(id);
      throw thrown;
    }
    failpoint('agent.started');
    await view.inspect(uid, id);
    log.info('container started', { replica: uid, deployment: replica.deployment, container: id });
  }

  /**
   * Fetches the secrets at the last moment, so that values are not held in memory while an image is pulled.
   *
   * A ticket is valid once. Whether a failed request used it is unknown, so it is not retried: the next attempt finds no
   * ticket and requests a fresh one.
   */
  async #fetchSecrets({ uid, generation, template }: Replica): Promise<ReadonlyMap<string, Secret>> {
    const { assignments, outbox, requestSecrets, requestTickets } = this.#parts;
    const { image, secrets = [] } = template;
    if (secrets.length === 0) return new Map();
    if (!(await this.#env.engine.hasImage(image))) throw new ImageMissingFault(image);
    const ticket = assignments.takeTicket(uid);
    if (ticket !== undefined) return requestSecrets({ replica: uid, generation, ticket });
    requestTickets();
    // The control plane issues a new ticket only while no container is reported.
    if (outbox.latest(uid)?.containerId !== undefined) this.#report(uid, 'creating', {});
    throw new MissingTicketFault('no delivery ticket for the secrets of this replica; a fresh one was requested');
  }

  async #takeDown(uid: string, step: 'stop' | 'remove'): Promise<void> {
    const { engine, log } = this.#env;
    const { view } = this.#parts;
    const { id = '' } = view.get(uid) ?? {};
    if (step === 'stop') {
      failpoint('agent.stopping');
      await this.#reportIfSlow(uid, 'stopping', () =>
        engine.stop(id, this.#options.stopGraceSeconds ?? STOP_GRACE_SECONDS),
      );
      failpoint('agent.stopped');
      await view.inspect(uid, id);
    } else {
      await engine.remove(id);
      failpoint('agent.removed');
      view.set(uid, undefined);
      log.info('container removed', { replica: uid, container: id });
    }
  }

  async #onGone(uid: string): Promise<ReconcileResult> {
    const { assignments, view, history, outbox } = this.#parts;
    await history.forget(uid, this.#findSlot(uid));
    this.#report(uid, 'removed', {});
    if (assignments.get(uid)) return done; // the assignment stays until the control plane has read the report
    outbox.forget(uid);
    view.forget(uid);
    return done;
  }

  /** Reports the state of a slow step; a fast one is not worth a write. */
  async #reportIfSlow<T>(uid: string, state: ContainerState, act: () => Promise<T>): Promise<T> {
    const slot = this.#findSlot(uid);
    const isRetry = slot !== undefined && this.#parts.history.failures(slot) > 0;
    const slowMs = isRetry ? SLOW_RETRY_MS : SLOW_STEP_MS;
    const cancel = this.#env.clock.after(slowMs, () => this.#report(uid, state, {}));
    try {
      return await act();
    } finally {
      cancel();
    }
  }

  /** A replica of which nothing was reported yet may wait because of the one that had its slot before. */
  #reportBackoff(uid: string): void {
    if (this.#parts.view.get(uid)) return this.#reportStatus(uid);
    if (this.#parts.outbox.latest(uid)) return;
    this.#report(uid, 'failed', {
      reason: 'start_backoff',
      message: 'earlier starts from this template failed in this slot; the next attempt follows within a minute',
    });
  }

  #reportStatus(uid: string): void {
    const { view, history } = this.#parts;
    const container = view.get(uid);
    if (!container) return;

    const { id: containerId, owner, state, health, exitCode } = container;
    if (state === 'running') return this.#report(uid, 'running', { containerId, health });
    const restarts = history.restarts(uid);
    this.#report(uid, 'exited', {
      containerId,
      ...(exitCode === undefined ? {} : { exitCode }),
      reason: history.isCrashLooping(owner) ? 'crash_loop' : 'container_exited',
      message: `exited with code ${exitCode} after ${restarts} ${restarts === 1 ? 'restart' : 'restarts'}; waiting before the next restart`,
    });
  }

  /** Returns how long the slot must wait, or throws to be retried when it is not the start that failed. */
  async #onFailure(uid: string, step: ReplicaStep, error: Error): Promise<ReconcileResult> {
    const { view, history } = this.#parts;
    view.markUncertain(uid);
    const failure = toStepFailure(step.kind, error);
    const code = failure?.reason ?? error.name;
    this.#env.log.warn('container step failed, retrying', { replica: uid, phase: step.kind, code, error });
    if (error.cause instanceof Error) this.#env.log.debug('what the engine said', { replica: uid, error: error.cause });
    if (failure) this.#report(uid, 'failed', failure);
    const slot = this.#findSlot(uid);
    if (!failure || !slot || !isStart(step.kind)) throw error;

    if (step.kind !== 'restart') await history.countFailure(slot); // a restart was counted before it happened
    return again(history.backoffMs(slot), code);
  }

  /** The slot of a replica, from its assignment or its container. */
  #findSlot(uid: string): SlotTemplate | undefined {
    const { assignments, view } = this.#parts;
    return assignments.get(uid) ?? view.get(uid)?.owner;
  }

  #report(uid: string, state: ContainerState, details: ReportDetails): void {
    const { assignments, view, history, outbox, node } = this.#parts;
    const subject = assignments.get(uid) ?? view.get(uid)?.owner;
    if (!subject) return;
    outbox.put({
      replica: uid,
      deployment: subject.deployment,
      slot: subject.slot,
      nodeId: node.id,
      templateHash: subject.templateHash,
      state,
      health: 'none',
      restarts: history.restarts(uid),
      ...details,
      at: new Date(this.#env.clock.now()).toISOString(),
    });
  }
}

/** Whether the step brings a container up. */
function isStart(step: ReplicaStep['kind']): boolean {
  return step === 'pull' || step === 'create' || step === 'start' || step === 'restart';
}
