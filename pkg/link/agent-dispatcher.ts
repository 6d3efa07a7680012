import type { EnvironmentRequest } from '../../crds/delivery/index.js';
import { AssignmentStreams } from './assignment-streams.js';
import { deliverEnvironment, type EnvironmentResult } from './deliver-environment.js';
import type { DispatcherEnv } from './dispatcher-env.js';
import { recordAdvertisement, renewPresence } from './heartbeat.js';
import type { AssignmentLine, Heartbeat, HeartbeatReply, NodeIdentity, ReportBatch } from './messages.js';
import { type ReportIntake, storeReports } from './report-intake.js';

/**
 * The control plane's end of the link: everything an agent may do, done for a node whose token has been checked.
 *
 * It has no state but its open streams, so any server can answer any agent at any time.
 */
export class AgentDispatcher {
  readonly #env: DispatcherEnv;
  readonly #streams: AssignmentStreams;

  constructor(env: DispatcherEnv) {
    this.#env = env;
    this.#streams = new AssignmentStreams(env);
  }

  /**
   * Notes that the node has been heard, and what it advertises. Costs no write to the store while nothing changes.
   * Undefined when there is no such node any more.
   */
  async heartbeat(node: NodeIdentity, beat: Heartbeat): Promise<HeartbeatReply | undefined> {
    if (!(await recordAdvertisement(this.#env, node, beat))) return undefined;
    await renewPresence(this.#env, node);
    return { failedAfterMs: this.#env.failedAfterSeconds * 1000 };
  }

  /** Stores what differs from what was reported before, or refuses the whole batch. `log` is that of the request. */
  report(node: NodeIdentity, batch: ReportBatch, log = this.#env.log): Promise<ReportIntake> {
    return storeReports({ ...this.#env, log }, node, batch.reports);
  }

  /**
   * Hands over a snapshot, not older than this call, and every change after it. Returns how to end the stream.
   */
  assignments(node: NodeIdentity, onLine: (line: AssignmentLine) => void): () => void {
    return this.#streams.open(node, onLine);
  }

  /**
   * The variables that come from secrets, for one container that the node is about to make. `log` is that of the request.
   */
  environment(node: NodeIdentity, request: EnvironmentRequest, log = this.#env.log): Promise<EnvironmentResult> {
    const { delivery, ...env } = this.#env;
    if (!delivery) return Promise.resolve({ kind: 'not_own' });
    return deliverEnvironment({ ...env, log, delivery }, node, request);
  }

  /** Ends all streams' supply: nothing is handed over after this. */
  close(): void {
    this.#streams.close();
  }
}
