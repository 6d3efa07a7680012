import type { EnvironmentRequest } from '../../crds/delivery/index.js';
import { ranges } from '../../crds/keys/index.js';
import { NODES_BY_ID } from '../fleet/index.js';
import { AssignmentFeed } from './assignment-feed.js';
import { deliverEnvironment, type EnvironmentResult } from './deliver-environment.js';
import type { DispatcherEnv } from './dispatcher-env.js';
import { recordAdvertisement, renewPresence } from './heartbeat.js';
import type { AssignmentLine, Heartbeat, HeartbeatReply, NodeIdentity, ReportBatch } from './agent-link.js';
import { ReportBudget } from './report-budget.js';
import { type ReportIntake, storeReports } from './report-intake.js';

/**
 * The control plane's end of the link: every request of an agent, for a node whose token has been verified.
 *
 * Its only state is the open streams and each node's budget of writes, so any server can serve any agent at any time.
 */
export class AgentDispatcher {
  readonly #env: DispatcherEnv;
  readonly #streams: AssignmentFeed;
  readonly #budget: ReportBudget;

  constructor(env: DispatcherEnv) {
    this.#env = env;
    this.#streams = new AssignmentFeed(env);
    this.#budget = new ReportBudget(env.clock);
  }

  /**
   * Renews the node's presence and stores what it advertises. Writes nothing while nothing changes.
   * Undefined when the node no longer exists.
   */
  async heartbeat(node: NodeIdentity, beat: Heartbeat): Promise<HeartbeatReply | undefined> {
    if (!(await recordAdvertisement(this.#env, node, beat))) return undefined;
    await renewPresence(this.#env, node, beat);
    return { failedAfterMs: this.#env.failedAfterSeconds * 1000 };
  }

  /** Stores the reports that changed, or refuses the whole batch. `log` is the request's logger. */
  report(node: NodeIdentity, batch: ReportBatch, log = this.#env.log): Promise<ReportIntake> {
    return storeReports({ ...this.#env, log }, node, batch.reports, this.#budget);
  }

  /** Sends a snapshot at least as new as this call, then every change. Returns the function that ends the stream. */
  assignments(node: NodeIdentity, onLine: (line: AssignmentLine) => void): () => void {
    return this.#streams.open(node, onLine);
  }

  /** The secret variables of one container that the node is about to create. `log` is the request's logger. */
  environment(node: NodeIdentity, request: EnvironmentRequest, log = this.#env.log): Promise<EnvironmentResult> {
    const { delivery, ...env } = this.#env;
    if (!delivery) return Promise.resolve({ kind: 'not_own' });
    return deliverEnvironment({ ...env, log, delivery }, node, request);
  }

  /** Which of these ids are no node of the tenant now. */
  async findGoneNodes({ tenant }: NodeIdentity, ids: readonly string[]): Promise<readonly string[]> {
    const { cache } = this.#env;
    await cache.barrier(); // a node may have enrolled at another server just now
    const own = ranges.of(ranges.nodes, tenant);
    return ids.filter(id => !cache.by(NODES_BY_ID, id).some(({ key }) => key.startsWith(own)));
  }

  close(): void {
    this.#streams.close();
  }
}
