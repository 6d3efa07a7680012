import { isDeepStrictEqual } from 'node:util';

import type { Report } from '../../../crds/report/index.js';
import { backoffMs, type Cancel, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import { LinkRefusedFault, REPLICA_ALLOWANCE, ReportBudget } from '../../link/index.js';
import type { AgentEnv } from '../agent-env.js';

const BATCH_MAX = 500;
/** Well below the largest body that a server accepts. */
const BATCH_BYTES = 256 * 1024;
const RETRY = { firstMs: 200, capMs: 10_000 };

type OutboxEnv = Pick<AgentEnv, 'clock' | 'random' | 'log'>;
type SendReports = (reports: readonly Report[]) => Promise<void>;

/**
 * Reports to the control plane: the latest of each replica, and only changes.
 *
 * Reports collect while a batch is being sent, so a single report leaves at once and a burst leaves in few batches. A
 * replica whose reports change all the time has a budget: beyond it, only the latest report is sent every few seconds.
 */
export class Outbox {
  readonly #env: OutboxEnv;
  readonly #send: SendReports;
  readonly #signal: AbortSignal;
  readonly #budget: ReportBudget;
  /** To be sent: newer than what is in flight, which is newer than what was sent. */
  readonly #pending = new Map<string, Report>();
  #inFlight = new Map<string, Report>();
  readonly #sent = new Map<string, Report>();
  /** Pending reports that are free, because they are sent again. */
  readonly #free = new Set<string>();
  /** Replicas of which nothing is kept once their last report has been sent. */
  readonly #leaving = new Set<string>();
  #flushing = false;
  #cancelWake: Cancel = () => undefined;

  constructor(env: OutboxEnv, send: SendReports, signal: AbortSignal) {
    this.#env = env;
    this.#send = send;
    this.#signal = signal;
    this.#budget = new ReportBudget(env.clock);
  }

  /** How many replicas something is kept of. */
  get size(): number {
    return new Set([...this.#pending.keys(), ...this.#inFlight.keys(), ...this.#sent.keys(), ...this.#leaving]).size;
  }

  /** The latest report of a replica: sent, being sent or to be sent. */
  latest(uid: string): Report | undefined {
    return this.#pending.get(uid) ?? this.#inFlight.get(uid) ?? this.#sent.get(uid);
  }

  /** Sends a report, unless it equals the latest one. */
  put(report: Report): void {
    const { replica } = report;
    const latest = this.latest(replica);
    if (latest && isDeepStrictEqual({ ...latest, at: '' }, { ...report, at: '' })) return;
    this.#leaving.delete(replica);
    this.#pending.set(replica, report);
    void this.#flush();
  }

  /** Sends the latest reports again, in case the control plane lost them. It stores only what differs. */
  resendAll(): void {
    for (const [uid, report] of this.#sent) {
      if (this.#pending.has(uid) || this.#inFlight.has(uid)) continue; // something newer is on its way
      this.#pending.set(uid, report);
      this.#free.add(uid);
    }
    void this.#flush();
  }

  /** Forgets a removed replica, once its last report has been sent. */
  forget(uid: string): void {
    this.#sent.delete(uid);
    if (this.#pending.has(uid) || this.#inFlight.has(uid)) this.#leaving.add(uid);
    else this.#budget.forget(uid);
  }

  async #flush(): Promise<void> {
    if (this.#flushing) return;
    this.#flushing = true;
    this.#cancelWake();
    await Promise.resolve(); // reports of the same tick go into one batch
    let waitMs = Number.POSITIVE_INFINITY;
    for (let failures = 0; this.#pending.size > 0 && !this.#signal.aborted; ) {
      waitMs = this.#takeBatch();
      const batch = [...this.#inFlight.values()];
      if (batch.length === 0) break;
      try {
        await this.#send(batch);
        this.#onSent(batch);
        failures = 0;
      } catch (thrown) {
        failures++;
        this.#onFailure(batch, asError(thrown), failures);
        await sleep(this.#env.clock, backoffMs(failures, RETRY, this.#env.random), this.#signal);
      }
    }
    this.#flushing = false;
    if (this.#pending.size > 0 && !this.#signal.aborted) {
      this.#cancelWake = this.#env.clock.after(waitMs, () => void this.#flush());
    }
  }

  /** Puts what may be sent in flight. Returns how long the first of the others must wait. */
  #takeBatch(): number {
    let [waitMs, bytes] = [Number.POSITIVE_INFINITY, 0];
    for (const [uid, report] of this.#pending) {
      if (this.#inFlight.size === BATCH_MAX || bytes > BATCH_BYTES) return 0;
      const isFree = this.#free.has(uid) || report.state === 'removed';
      const wait = isFree ? 0 : this.#budget.take(uid, 1, REPLICA_ALLOWANCE);
      waitMs = wait > 0 ? Math.min(waitMs, wait) : waitMs;
      if (wait > 0) continue;
      bytes += Buffer.byteLength(JSON.stringify(report));
      this.#inFlight.set(uid, report);
      this.#pending.delete(uid);
      this.#free.delete(uid);
    }
    return waitMs;
  }

  #onSent(batch: readonly Report[]): void {
    this.#inFlight = new Map();
    for (const report of batch) {
      const uid = report.replica;
      if (!this.#leaving.has(uid)) this.#sent.set(uid, report);
      else if (!this.#pending.has(uid)) this.#release(uid);
    }
  }

  #onFailure(batch: readonly Report[], error: Error, attempt: number): void {
    this.#inFlight = new Map();
    if (error instanceof LinkRefusedFault && !error.retriable && error.status !== 401) {
      const { code } = error;
      this.#env.log.error('reports refused by the control plane, dropped', { code, count: batch.length, error });
      // The next list of containers makes the agent report them again.
      for (const { replica } of batch) if (!this.#pending.has(replica)) this.#release(replica);
      return;
    }
    this.#env.log.warn('could not send reports, retrying', { count: batch.length, attempt, error });
    for (const report of batch) {
      if (this.#pending.has(report.replica)) continue;
      this.#pending.set(report.replica, report);
      this.#free.add(report.replica);
    }
  }

  #release(uid: string): void {
    this.#sent.delete(uid);
    if (this.#leaving.delete(uid)) this.#budget.forget(uid);
  }
}
