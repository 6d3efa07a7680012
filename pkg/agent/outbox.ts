import { isDeepStrictEqual } from 'node:util';

import type { Report } from '../../crds/report/index.js';
import { backoffMs, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import { LinkRefusedFault } from '../link/index.js';
import type { AgentEnv } from './agent-env.js';

const BATCH_MAX = 500;
const RETRY = { firstMs: 200, capMs: 10_000 };

type OutboxEnv = Pick<AgentEnv, 'clock' | 'random' | 'log'>;
type SendReports = (reports: readonly Report[]) => Promise<void>;

/**
 * Reports to the control plane: the latest of each replica, and only changes.
 *
 * There is no timer: reports collect while a batch is being sent, so a single report leaves at once and a burst leaves in
 * few batches.
 */
export class Outbox {
  readonly #env: OutboxEnv;
  readonly #send: SendReports;
  readonly #signal: AbortSignal;
  #pending = new Map<string, Report>();
  readonly #sent = new Map<string, Report>();
  #flushing = false;

  constructor(env: OutboxEnv, send: SendReports, signal: AbortSignal) {
    this.#env = env;
    this.#send = send;
    this.#signal = signal;
  }

  /** Sends a report, unless an equal one was sent already. */
  put(report: Report): void {
    const latest = this.#pending.get(report.replica) ?? this.#sent.get(report.replica);
    if (latest && isDeepStrictEqual({ ...latest, at: '' }, { ...report, at: '' })) return;
    this.#pending.set(report.replica, report);
    void this.#flush();
  }

  /** Sends the latest reports again, in case the control plane lost them. It stores only what differs. */
  resendAll(): void {
    for (const [uid, report] of this.#sent) if (!this.#pending.has(uid)) this.#pending.set(uid, report);
    void this.#flush();
  }

  /** Drops the last report of a removed replica. */
  forget(uid: string): void {
    this.#sent.delete(uid);
  }

  async #flush(): Promise<void> {
    if (this.#flushing) return;
    this.#flushing = true;
    await Promise.resolve(); // reports of the same tick go into one batch
    for (let failures = 0; this.#pending.size > 0 && !this.#signal.aborted; ) {
      const batch = [...this.#pending.values()].slice(0, BATCH_MAX);
      for (const { replica } of batch) this.#pending.delete(replica);
      try {
        await this.#send(batch);
        for (const report of batch) this.#sent.set(report.replica, report);
        failures = 0;
      } catch (thrown) {
        failures++;
        this.#onFailure(batch, asError(thrown), failures);
        await sleep(this.#env.clock, backoffMs(failures, RETRY, this.#env.random), this.#signal);
      }
    }
    this.#flushing = false;
  }

  #onFailure(batch: readonly Report[], error: Error, attempt: number): void {
    if (error instanceof LinkRefusedFault && !error.retriable && error.status !== 401) {
      const { code } = error;
      this.#env.log.error('reports refused by the control plane, dropped', { code, count: batch.length, error });
      return; // the next snapshot makes the agent send the current reports again
    }
    this.#env.log.warn('could not send reports, retrying', { count: batch.length, attempt, error });
    for (const report of batch) if (!this.#pending.has(report.replica)) this.#pending.set(report.replica, report);
  }
}
