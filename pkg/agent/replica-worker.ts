import type { Replica } from '../../crds/replica/index.js';
import type { ContainerState, Report } from '../../crds/report/index.js';
import { failpoint } from '../failpoint/index.js';
import { asError } from '../fault/index.js';
import type { NodeIdentity } from '../link/index.js';
import { again, done, type ReconcileResult } from '../reconcile/index.js';
import type { Secret } from '../secrets/index.js';
import { type AgentEnv, type AgentOptions, STOP_GRACE_SECONDS } from './agent-env.js';
import type { Assignments } from './assignments.js';
import { buildContainerSpec } from './container-spec.js';
import type { ContainerView } from './container-view.js';
import { EngineRefusedFault, ImageMissingFault } from './engine/index.js';
import { decideNextStep, type ReplicaStep, toStepFailure } from './next-step.js';
import type { Outbox } from './outbox.js';
import type { RestartHistory } from './restart-history.js';
import { MissingTicketFault, type SecretFetcher } from './secret-fetcher.js';

const SLOW_MS = 300;
const MOST_STEPS = 12;

export interface WorkerParts {
  readonly node: NodeIdentity;
  readonly assignments: Assignments;
  readonly view: ContainerView;
  readonly history: RestartHistory;
  readonly outbox: Outbox;
  readonly secrets: SecretFetcher;
}

/** The parts of a report that say how a container stands. */
type ReportDetails = Partial<Pick<Report, 'health' | 'containerId' | 'exitCode' | 'reason' | 'message'>>;

/**
 * Brings the container of one replica into line with what is wanted, one step after the other.
 *
 * It may be woken at any time. It decides by what is known now, and where a call broke off it looks before it decides.
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

  /** Works until there is nothing to do for now. Throws to be tried again later. */
  async work(uid: string): Promise<ReconcileResult> {
    const { assignments, view, history } = this.#parts;
    if (!view.isListed) return done; // the first list wakes everything
    await view.refresh(uid);

    let imageMissing = false;
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      const container = view.get(uid);
      if (container) history.observe(uid, container);
      const backoffMs = history.backoffMs(uid);
      const step = decideNextStep({
        wanted: assignments.wanted(uid, container?.owner),
        container,
        imageMissing,
        backoffMs,
      });
      try {
        const next = await this.#take(uid, step);
        if (next) return next;
        imageMissing = false;
      } catch (thrown) {
        if (!(thrown instanceof ImageMissingFault)) throw this.#failed(uid, step, asError(thrown));
        imageMissing = true;
      }
    }
    return again(SLOW_MS, 'the container keeps changing');
  }

  /** Takes one step. Answers nothing when there may be another. */
  async #take(uid: string, step: ReplicaStep): Promise<ReconcileResult | undefined> {
    switch (step.kind) {
      case 'leave':
        return done;
      case 'settled':
        this.#reportSeen(uid);
        return done;
      case 'rest':
        this.#reportSeen(uid);
        return again(step.ms, 'the container rests before it is started again');
      case 'refuse':
        this.#report(uid, 'failed', {
          reason: 'assignment_outdated',
          message: 'a newer generation of this slot has been assigned to this node before',
        });
        return done;
      case 'gone':
        return this.#gone(uid);
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
    if (!replica) return; // dropped meanwhile: the next step is another one
    const { image } = replica.template;

    if (step === 'pull') {
      log.info('pulling', { replica: uid, image });
      return this.#slowly(uid, 'pulling', () => engine.pull(image));
    }
    if (step === 'create') {
      const secrets = await this.#secretsOf(replica);
      failpoint('agent.secrets_fetched');
      const { namePrefix: prefix = '' } = this.#options;
      const order = buildContainerSpec(replica, { nodeId: node.id, prefix, others: view.containers, secrets });
      const id = await this.#slowly(uid, 'creating', () => engine.create(order));
      failpoint('agent.created');
      const { name, owner } = order;
      view.set(uid, { id, name, owner, state: 'created', health: 'none', exitCode: undefined });
      log.info('container created', { replica: uid, deployment: replica.deployment, container: id });
      return;
    }
    const { id = '' } = view.get(uid) ?? {};
    if (step === 'restart') await history.countRestart(uid);
    try {
      await this.#slowly(uid, 'creating', () => engine.start(id));
    } catch (thrown) {
      // What never started may refer to what is gone, such as a network: the next attempt makes a fresh one.
      if (step === 'start' && thrown instanceof EngineRefusedFault) await engine.remove(id);
      throw thrown;
    }
    failpoint('agent.started');
    await view.inspect(uid, id);
    log.info('container started', { replica: uid, deployment: replica.deployment, container: id });
  }

  /** Asked for at the last moment: they are not kept while an image is pulled. */
  async #secretsOf(replica: Replica): Promise<ReadonlyMap<string, Secret>> {
    const { image, secrets = [] } = replica.template;
    if (secrets.length === 0) return new Map();
    if (!(await this.#env.engine.hasImage(image))) throw new ImageMissingFault(image);
    try {
      return await this.#parts.secrets.fetch(replica);
    } catch (thrown) {
      // The control plane gives a new ticket only where no container is reported.
      if (thrown instanceof MissingTicketFault) this.#report(replica.uid, 'creating', {});
      throw thrown;
    }
  }

  async #takeDown(uid: string, step: 'stop' | 'remove'): Promise<void> {
    const { engine, log } = this.#env;
    const { view } = this.#parts;
    const { id = '' } = view.get(uid) ?? {};
    if (step === 'stop') {
      failpoint('agent.stopping');
      await this.#slowly(uid, 'stopping', () => engine.stop(id, this.#options.stopGraceSeconds ?? STOP_GRACE_SECONDS));
      failpoint('agent.stopped');
      await view.inspect(uid, id);
    } else {
      await engine.remove(id);
      failpoint('agent.removed');
      view.set(uid, undefined);
      log.info('container removed', { replica: uid, container: id });
    }
  }

  async #gone(uid: string): Promise<ReconcileResult> {
    const { assignments, view, history, outbox } = this.#parts;
    await history.forget(uid);
    this.#report(uid, 'removed', {});
    if (assignments.get(uid)) return done; // its record stays until the control plane has read the report
    outbox.forget(uid);
    view.forget(uid);
    return done;
  }

  /** A step that takes its time is reported; one that is over in a moment is not worth a write. */
  async #slowly<T>(uid: string, state: ContainerState, act: () => Promise<T>): Promise<T> {
    const cancel = this.#env.clock.after(SLOW_MS, () => this.#report(uid, state, {}));
    try {
      return await act();
    } finally {
      cancel();
    }
  }

  #reportSeen(uid: string): void {
    const { view, history } = this.#parts;
    const container = view.get(uid);
    if (!container) return;

    const { id: containerId, state, health, exitCode } = container;
    if (state === 'running') return this.#report(uid, 'running', { containerId, health });
    const restarts = history.restarts(uid);
    this.#report(uid, 'exited', {
      containerId,
      ...(exitCode === undefined ? {} : { exitCode }),
      reason: history.isCrashLooping(uid) ? 'crash_loop' : 'container_exited',
      message: `exited with code ${exitCode}; restarted ${restarts} times, resting before the next start`,
    });
  }

  #failed(uid: string, step: ReplicaStep, error: Error): Error {
    this.#parts.view.markUncertain(uid);
    const failure = toStepFailure(step.kind, error);
    const code = failure?.reason ?? error.name;
    this.#env.log.warn('step failed, trying again', { replica: uid, because: step.kind, code, error });
    if (failure) this.#report(uid, 'failed', failure);
    return error;
  }

  #report(uid: string, state: ContainerState, standing: ReportDetails): void {
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
      ...standing,
      at: new Date(this.#env.clock.now()).toISOString(),
    });
  }
}
