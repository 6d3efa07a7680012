import type { Reason } from '../../../crds/reasons/index.js';
import type { ContainerState, FailedCheck, Report, RetrySchedule, LastPullReport } from '../../../crds/report/index.js';
import { findNextRetry, isPullNews } from '../../../crds/report/index.js';
import { asError } from '../../fault/index.js';
import type { NodeIdentity } from '../../link/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { Assignments } from '../assignments.js';
import type { ContainerView } from '../container-view.js';
import type { ContainerStatus, Engine, OnPullProgress } from '../engine/index.js';
import type { StepFailure } from './next-step.js';
import type { Outbox } from '../reports/outbox.js';
import { type SlowStep, STUCK } from './slow-step.js';
import type { SlotTemplate, StartHistory } from './start-history.js';

const SLOW_STEP_MS = 300;
/** After a failure, a step is reported only when it takes this long: reports must not alternate with each attempt. */
const SLOW_RETRY_MS = 5_000;
/** A step that takes this long is stuck: the engine creates and removes containers in a second or two. */
const STUCK_STEP_MS = 30_000;
/** Two times of a next attempt that differ by less are the same: else each attempt would cause a write. */
const RETRY_TOLERANCE_MS = 5_000;
/** The output of a check may differ every time: a time in it is enough. */
const READ_LOG_EVERY_MS = 30_000;

/** What a report is made from. */
export interface ReporterParts {
  readonly node: NodeIdentity;
  readonly assignments: Assignments;
  readonly view: ContainerView;
  readonly history: StartHistory;
  readonly outbox: Outbox;
}

/** What a step adds to the report of its replica. */
export type ReportDetails = Partial<
  Pick<
    Report,
    'health' | 'containerId' | 'containerName' | 'exitCode' | 'message' | 'failedCheck' | 'retry' | 'startedAt' | 'pull'
  > & {
    readonly reason: Reason;
  }
>;

/** Says what is seen of the container of a replica: its state, since when, how it ended last, and when it is tried again. */
export class ReplicaReporter {
  readonly #env: Pick<AgentEnv, 'clock' | 'engine' | 'log'>;
  readonly #parts: ReporterParts;
  /** The ends whose output has been read, as container id and time, by replica. */
  readonly #ends = new Map<string, string>();
  /** What containers whose check fails wrote last, with the check that it was read for, by replica. In memory only. */
  readonly #logs = new Map<string, FailedCheckLog>();

  constructor(env: Pick<AgentEnv, 'clock' | 'engine' | 'log'>, parts: ReporterParts) {
    this.#env = env;
    this.#parts = parts;
  }

  report(uid: string, state: ContainerState, details: ReportDetails = {}): void {
    const { assignments, view, history, outbox, node } = this.#parts;
    const container = view.get(uid);
    const subject = assignments.get(uid) ?? container?.owner;
    if (!subject) return;
    const at = new Date(this.#env.clock.now()).toISOString();
    const latest = outbox.latest(uid);
    const restarts = history.restarts(uid);
    const isSame = latest?.state === state && latest.restarts === restarts;
    const lastEnd = history.lastEnd(uid);
    outbox.put({
      replica: uid,
      deployment: subject.deployment,
      slot: subject.slot,
      nodeId: node.id,
      templateHash: subject.templateHash,
      state,
      health: 'none',
      restarts,
      ...details,
      since: isSame ? (latest.since ?? latest.at) : at,
      ...(container?.user !== undefined && { user: container.user }),
      ...(lastEnd && { lastEnd }),
      at,
    });
  }

  /** Reports the container as it was last seen. */
  reportStatus(uid: string): void {
    const { view, history } = this.#parts;
    const container = view.get(uid);
    if (!container) return;

    const { id: containerId, name: containerName, owner, state, health, exitCode, failedCheck } = container;
    if (state === 'running') {
      const isWell = !failedCheck || health === 'healthy';
      const check = isWell ? {} : { containerName, failedCheck: this.#sameCheck(uid, failedCheck) };
      return this.report(uid, 'running', { containerId, health, ...check, ...this.#sinceWhen(uid, container) });
    }
    const restarts = history.restarts(uid);
    const retry = this.scheduleRetry(uid, owner);
    this.report(uid, 'exited', {
      containerId,
      containerName,
      ...(exitCode === undefined ? {} : { exitCode }),
      reason: history.isCrashLooping(owner) ? 'crash_loop' : 'container_exited',
      message: `exited with code ${exitCode} after ${restarts} ${restarts === 1 ? 'restart' : 'restarts'}; waiting before the next restart`,
      ...(retry && { retry }),
    });
  }

  /**
   * The control plane issues a new ticket only while no container is reported. One that this agent knows nothing of may have been:
   * by an agent before it, or before the store was restored from a backup.
   */
  reportNoContainer(uid: string): void {
    const latest = this.#parts.outbox.latest(uid);
    if (!latest || latest.containerId !== undefined) this.report(uid, 'creating');
  }

  /** Reports that the container of an attempt has ended, and why when that is not by itself. */
  reportEnd(uid: string, failure: StepFailure | undefined): void {
    const container = this.#parts.view.get(uid);
    if (!container) return;
    const { id: containerId, exitCode } = container;
    this.report(uid, 'exited', {
      containerId,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(failure ?? { reason: 'container_exited' }),
      ...this.#sinceWhen(uid, container),
    });
  }

  /** Reports an attempt whose container is gone: with the exit code that was seen of it, if there is one. */
  reportLost(uid: string, failure: StepFailure | undefined): void {
    const end = this.#parts.history.lastEnd(uid);
    if (!end) return this.report(uid, 'exited', failure ?? LOST);
    this.report(uid, 'exited', { exitCode: end.exitCode, ...(failure ?? { reason: 'container_exited' }) });
  }

  /** When the container of an attempt has started: by then its time is counted. */
  #sinceWhen(uid: string, { startedAt }: ContainerStatus): Pick<ReportDetails, 'startedAt'> {
    return this.#parts.assignments.get(uid)?.once && startedAt !== undefined ? { startedAt } : {};
  }

  /** A replica of which nothing was reported yet may wait because of the one that had its slot before. */
  reportBackoff(uid: string, slot: SlotTemplate | undefined): void {
    const { view, outbox } = this.#parts;
    if (view.get(uid)?.state === 'exited') return this.reportStatus(uid);
    if (outbox.latest(uid)) return;
    const retry = slot && this.scheduleRetry(uid, slot);
    this.report(uid, 'failed', {
      reason: 'start_backoff',
      message: 'earlier starts from this template failed in this slot; the next attempt follows within a minute',
      ...(retry && { retry }),
    });
  }

  /**
   * Reports the state of a slow step, and that it is stuck when the engine neither finishes it nor notes progress; a fast one is
   * not worth a write.
   */
  async reportIfSlow<T>(
    uid: string,
    { state, allowedMs = 0 }: SlowStep,
    act: (noteProgress: OnPullProgress) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#env;
    const slot = this.#parts.assignments.get(uid) ?? this.#parts.view.get(uid)?.owner;
    const isRetry = slot !== undefined && this.#parts.history.failures(slot) > 0;
    const cancelSlow = clock.after(isRetry ? SLOW_RETRY_MS : SLOW_STEP_MS, () => {
      // What an earlier attempt has found out stays until this one ends.
      if (this.#parts.outbox.latest(uid)?.state !== state) this.report(uid, state);
    });
    let progressAt = clock.monotonic();
    let last: LastPullReport = { at: progressAt };
    let cancelStuck = () => {};
    const watch = (ms: number) => {
      cancelStuck = clock.after(ms, () => {
        const leftMs = progressAt + STUCK_STEP_MS + allowedMs - clock.monotonic();
        if (leftMs > 0) return watch(leftMs);
        this.report(uid, state, STUCK[state]);
      });
    };
    watch(STUCK_STEP_MS + allowedMs);
    const noteProgress: OnPullProgress = pull => {
      progressAt = clock.monotonic();
      const latest = this.#parts.outbox.latest(uid);
      const wasStuck = latest?.reason === STUCK[state].reason;
      const isNews = pull !== undefined && latest?.state === state && isPullNews(last, pull, progressAt);
      if (!wasStuck && !isNews) return;
      if (pull) last = { at: progressAt, progress: pull };
      this.report(uid, state, pull && { pull });
      if (wasStuck) watch(STUCK_STEP_MS + allowedMs);
    };
    try {
      return await act(noteProgress);
    } finally {
      cancelSlow();
      cancelStuck();
    }
  }

  /** Notes what a container wrote last that should do its work and does not. */
  async recordOutput(container: ContainerStatus): Promise<void> {
    await this.#recordEnd(container);
    await this.#recordLog(container);
  }

  /** How it has ended, with its last lines: the next start would hide them. */
  async #recordEnd(container: ContainerStatus): Promise<void> {
    const { id, owner, exitCode, endedAt, oomKilled } = container;
    if (exitCode === undefined || endedAt === undefined) return;
    const key = `${id} ${endedAt}`;
    if (this.#ends.get(owner.replica) === key) return;
    const output = await this.#readLastLines(container);
    this.#ends.set(owner.replica, key);
    const end = { exitCode, at: endedAt, ...(oomKilled && { oomKilled }), ...output };
    await this.#parts.history.recordEnd(owner.replica, end);
  }

  /** Its last lines while its check fails: once for each failing check that differs, however often checks differ. */
  async #recordLog(container: ContainerStatus): Promise<void> {
    const { id, owner, state, health, failedCheck } = container;
    if (state !== 'running' || health === 'healthy' || !failedCheck) return void this.#logs.delete(owner.replica);
    const known = this.#logs.get(owner.replica);
    const readAt = this.#env.clock.monotonic();
    const isFresh = known && (isSameCheck(known.check, failedCheck) || readAt - known.readAt < READ_LOG_EVERY_MS);
    if (known?.id === id && isFresh) return;
    const { output, isWithheld } = await this.#readLastLines(container);
    const log = { ...(output !== undefined && { log: output }), ...(isWithheld && { isLogWithheld: isWithheld }) };
    this.#logs.set(owner.replica, { id, readAt, check: failedCheck, log });
  }

  #readLastLines({ id, owner }: ContainerStatus): ReturnType<Engine['readLastLines']> {
    return this.#env.engine.readLastLines(id).catch((thrown: unknown) => {
      const about = { replica: owner.replica, error: asError(thrown) };
      this.#env.log.debug('could not read the last lines of a container', about);
      return {};
    });
  }

  forget(uid: string): void {
    this.#ends.delete(uid);
    this.#logs.delete(uid);
  }

  /** When the slot is tried again. The schedule that was reported stays while it says the same. */
  scheduleRetry(uid: string, slot: SlotTemplate): RetrySchedule | undefined {
    const { history, outbox } = this.#parts;
    const waitMs = history.backoffMs(slot);
    if (waitMs <= 0) return undefined;
    const now = this.#env.clock.now();
    const known = outbox.latest(uid)?.retry;
    if (known && Math.abs(findNextRetry(known, now) - now - waitMs) <= RETRY_TOLERANCE_MS) return known;
    const everySeconds = history.findRegularBackoff(slot);
    return { at: new Date(now + waitMs).toISOString(), ...(everySeconds !== undefined && { everySeconds }) };
  }

  /** A check that fails as the one before did is the same: else each check would cause a write. */
  #sameCheck(uid: string, check: FailedCheck): FailedCheck {
    const known = this.#parts.outbox.latest(uid)?.failedCheck;
    const { log, isLogWithheld }: Pick<FailedCheck, 'log' | 'isLogWithheld'> = this.#logs.get(uid)?.log ?? {};
    const isSame = known?.log === log && known?.isLogWithheld === isLogWithheld && isSameCheck(known, check);
    return isSame && known ? known : { ...check, ...this.#logs.get(uid)?.log };
  }
}

interface FailedCheckLog {
  readonly id: string;
  readonly readAt: number;
  readonly check: FailedCheck;
  readonly log: Pick<FailedCheck, 'log' | 'isLogWithheld'>;
}

function isSameCheck(known: FailedCheck | undefined, check: FailedCheck): boolean {
  return known?.exitCode === check.exitCode && known.output === check.output && known.timedOut === check.timedOut;
}

const LOST: StepFailure = {
  reason: 'container_lost',
  message:
    'its container was removed by something else, so its exit code is not known: look on the node for what removes containers',
};
