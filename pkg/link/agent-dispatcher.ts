import type { EnvironmentRequest } from '../../crds/delivery/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { StoredJob } from '../../crds/job/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { SeenNetwork } from '../../crds/network/index.js';
import type { SeenVolume } from '../../crds/volume/index.js';
import { NODES_BY_ID } from '../fleet/index.js';
import { value } from '../store/index.js';
import { AssignmentFeed } from './assignment-feed.js';
import { deliverEnvironment, type EnvironmentResult } from './deliver-environment.js';
import { deliverPullCredential, type PullCredentialResult } from './deliver-pull-credential.js';
import type { DispatcherEnv } from './dispatcher-env.js';
import { findDoubles } from './doubles.js';
import { recordAdvertisement } from './heartbeat.js';
import type {
  AssignmentLine,
  Heartbeat,
  HeartbeatReply,
  HeldContainer,
  NodeIdentity,
  ReportBatch,
} from './agent-link.js';
import { storeNetworkReports } from './network-intake.js';
import { storeVolumeReports } from './volume-intake.js';
import { type AgentIdentity, demandHolder, NodeHeldFault, recordDuplicateAgent, renewPresence } from './presence.js';
import { ReportBudget } from './report-budget.js';
import { type ReportIntake, storeReports } from './report-intake.js';
import { isSetBack, judgeSeen, provePosition, readStorePosition } from './store-history.js';
import { recordUsage } from './usage.js';

/**
 * The control plane's end of the link: every request of an agent, for a node whose token has been verified.
 *
 * Of several agents with one identity one is served: the others get `NodeHeldFault`. Its only state is the open streams and each node's budget of writes, so any server can serve any agent at any time.
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
  async heartbeat(node: AgentIdentity, beat: Heartbeat): Promise<HeartbeatReply | undefined> {
    let wasAbsent = false;
    try {
      await demandHolder(this.#env, node);
      if (!(await recordAdvertisement(this.#env, node, beat))) return undefined;
      wasAbsent = await renewPresence(this.#env, node, beat);
      if (beat.usage) await recordUsage(this.#env, node, beat.usage);
      if (beat.setBack?.seen) await judgeSeen(this.#env, beat.setBack.seen);
    } catch (thrown) {
      if (thrown instanceof NodeHeldFault) await recordDuplicateAgent(this.#env, node);
      throw thrown;
    }
    const store = provePosition(readStorePosition(this.#env.cache), this.#env.keyring);
    return { failedAfterMs: this.#env.failedAfterSeconds * 1000, ...(wasAbsent && { wasAbsent }), store };
  }

  /** Stores the reports that changed, or refuses the whole batch. `log` is the request's logger. */
  async report(node: AgentIdentity, batch: ReportBatch, log = this.#env.log): Promise<ReportIntake> {
    await demandHolder(this.#env, node);
    return storeReports({ ...this.#env, log }, node, batch.reports, this.#budget);
  }

  /** Stores what the agent has seen of the networks of its node, where that has changed. */
  async reportNetworks(node: AgentIdentity, networks: readonly SeenNetwork[]): Promise<void> {
    await demandHolder(this.#env, node);
    await storeNetworkReports(this.#env, node, networks);
  }

  /** Stores what the agent has seen of the volumes of its node, where that has changed. */
  async reportVolumes(node: AgentIdentity, volumes: readonly SeenVolume[]): Promise<void> {
    await demandHolder(this.#env, node);
    await storeVolumeReports(this.#env, node, volumes);
  }

  /** Throws `NodeHeldFault` when another run of the node's agent has the node: before a stream is opened. */
  async demandHolder(node: AgentIdentity): Promise<void> {
    await this.#env.cache.barrier();
    await demandHolder(this.#env, node);
  }

  /**
   * Sends a snapshot at least as new as this call, then every change. Returns the function that ends the stream. `onRefused` is
   * called when another run of the agent has the node: nothing follows.
   */
  assignments(
    node: AgentIdentity,
    onLine: (line: AssignmentLine) => void,
    onRefused: () => void = () => undefined,
  ): () => void {
    return this.#streams.open(node, onLine, onRefused);
  }

  /** The secret variables of one container that the node is about to create. `log` is the request's logger. */
  environment(node: AgentIdentity, request: EnvironmentRequest, log = this.#env.log): Promise<EnvironmentResult> {
    const { delivery, ...env } = this.#env;
    if (!delivery) return Promise.resolve({ kind: 'not_own' });
    return deliverEnvironment({ ...env, log, delivery }, node, request);
  }

  /** The tenant's login for the registry of the image that the node is about to pull. `log` is the request's logger. */
  pullCredential(node: AgentIdentity, request: EnvironmentRequest, log = this.#env.log): Promise<PullCredentialResult> {
    const { delivery, ...env } = this.#env;
    if (!delivery?.registries) return Promise.resolve({ kind: 'not_own' });
    return deliverPullCredential({ ...env, log, delivery }, node, request);
  }

  /** Which of these ids are no node of the tenant now. */
  async findGoneNodes({ tenant }: NodeIdentity, ids: readonly string[]): Promise<readonly string[]> {
    const { cache } = this.#env;
    await cache.barrier(); // a node may have enrolled at another server just now
    if (isSetBack(cache)) return []; // what came after the backup is not gone
    const own = ranges.of(ranges.nodes, tenant);
    return ids.filter(id => !cache.by(NODES_BY_ID, id).some(({ key }) => key.startsWith(own)));
  }

  /** The replicas of which an agent that was refused runs a second container, and those that are not wanted any more. */
  findDoubles(node: AgentIdentity, containers: readonly HeldContainer[]): Promise<readonly string[]> {
    return findDoubles(this.#env, node, containers);
  }

  /** Which of these uids are no deployment and no job of the tenant now. */
  async findGoneDeployments({ tenant }: NodeIdentity, uids: readonly string[]): Promise<readonly string[]> {
    const { cache } = this.#env;
    await cache.barrier();
    if (isSetBack(cache)) return [];
    const own = [ranges.deployments, ranges.jobs].flatMap(range => cache.list(ranges.of(range, tenant)));
    const known = new Set(own.map(entry => value<StoredDeployment | StoredJob>(entry).metadata.uid));
    return uids.filter(uid => !known.has(uid));
  }

  close(): void {
    this.#streams.close();
  }
}
