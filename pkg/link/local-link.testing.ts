import type { SeenNetwork } from '../../crds/network/index.js';
import type { SeenVolume } from '../../crds/volume/index.js';
import { untilAborted } from '../clock/index.js';
import type { Secret } from '../secrets/index.js';
import type { AgentDispatcher } from './agent-dispatcher.js';
import {
  type AgentLink,
  type AssignmentLine,
  type EnrolReply,
  type EnrolRequest,
  type EnvironmentRequest,
  type Heartbeat,
  type HeartbeatReply,
  type HeldContainer,
  LinkRefusedFault,
  LinkUnreachableFault,
  NODE_HELD,
  type LogLine,
  type LogRequest,
  type NodeIdentity,
  type PullCredential,
  type RenewRequest,
  type ReportBatch,
} from './agent-link.js';
import { parseAgentRun } from './agent-run.js';
import { toEnvironmentRejection } from './deliver-environment.js';
import { type AgentIdentity, NodeHeldFault } from './presence.js';
import type { NodeCredentials } from './request-proof.js';

/** What the dispatcher leaves to the API: enrolment and authentication of nodes. */
export interface Registrar extends Pick<AgentLink, 'enrol' | 'renew'> {
  identify(token: string): NodeIdentity | undefined;
  /** Receives a requested log stream. */
  takeLogs?(request: LogRequest, lines: AsyncIterable<LogLine>): Promise<void>;
}

/** The link inside one process: the agent calls the dispatcher directly. */
export class LocalLink implements AgentLink {
  readonly #dispatcher: AgentDispatcher;
  readonly #registrar: Registrar;
  /** Aborted while the link is cut. */
  #cut = new AbortController();
  #credentials: Pick<NodeCredentials, 'token' | 'agent'> = { token: '', agent: '' };

  constructor(dispatcher: AgentDispatcher, registrar: Registrar) {
    this.#dispatcher = dispatcher;
    this.#registrar = registrar;
  }

  /** Cuts or restores the link. Cutting it breaks the open streams. */
  set up(up: boolean) {
    if (!up) this.#cut.abort();
    else if (this.#cut.signal.aborted) this.#cut = new AbortController();
  }

  present(credentials: NodeCredentials): void {
    this.#credentials = credentials;
  }

  async enrol(request: EnrolRequest, joinToken: string): Promise<EnrolReply> {
    this.#demandUp();
    return this.#registrar.enrol(request, joinToken);
  }

  async renew(request: RenewRequest): Promise<EnrolReply> {
    this.#demandUp();
    return this.#registrar.renew(request);
  }

  async heartbeat(beat: Heartbeat): Promise<HeartbeatReply> {
    const reply = await this.#asHolder(node => this.#dispatcher.heartbeat(node, beat));
    if (!reply) throw new LinkRefusedFault(404, 'resource_not_found');
    return reply;
  }

  async assignments(onLine: (line: AssignmentLine) => void, signal: AbortSignal): Promise<void> {
    await this.#asHolder(node => this.#dispatcher.demandHolder(node));
    if (signal.aborted) return;
    const refused = new AbortController();
    const end = AbortSignal.any([signal, this.#cut.signal, refused.signal]);
    const close = this.#dispatcher.assignments(this.#node(), onLine, () => refused.abort());
    end.addEventListener('abort', close, { once: true });
    await untilAborted(end);
    if (!signal.aborted) throw new LinkUnreachableFault('the link was cut');
  }

  async report(batch: ReportBatch): Promise<void> {
    const intake = await this.#asHolder(node => this.#dispatcher.report(node, batch));
    if (intake.accepted) return;
    throw 'waitMs' in intake ? new LinkRefusedFault(429, 'rate_limited') : new LinkRefusedFault(403, 'auth_forbidden');
  }

  async reportNetworks(networks: readonly SeenNetwork[]): Promise<void> {
    await this.#asHolder(node => this.#dispatcher.reportNetworks(node, networks));
  }

  async reportVolumes(volumes: readonly SeenVolume[]): Promise<void> {
    await this.#asHolder(node => this.#dispatcher.reportVolumes(node, volumes));
  }

  async environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>> {
    const answer = await this.#asHolder(node => this.#dispatcher.environment(node, request));
    if (answer.kind === 'ready') return answer.environment;
    const { status, code } = toEnvironmentRejection(answer);
    throw new LinkRefusedFault(status, code);
  }

  async pullCredential(request: EnvironmentRequest): Promise<PullCredential> {
    const answer = await this.#asHolder(node => this.#dispatcher.pullCredential(node, request));
    if (answer.kind === 'found' || answer.kind === 'none') return answer;
    const { status, code } = toEnvironmentRejection(answer);
    throw new LinkRefusedFault(status, code);
  }

  async findGoneNodes(ids: readonly string[]): Promise<readonly string[]> {
    return this.#dispatcher.findGoneNodes(this.#node(), ids);
  }

  async findDoubles(containers: readonly HeldContainer[]): Promise<readonly string[]> {
    return this.#dispatcher.findDoubles(this.#node(), containers);
  }

  async findGoneDeployments(uids: readonly string[]): Promise<readonly string[]> {
    return this.#dispatcher.findGoneDeployments(this.#node(), uids);
  }

  async sendLogs(request: LogRequest, lines: AsyncIterable<LogLine>): Promise<void> {
    this.#demandUp();
    await this.#registrar.takeLogs?.(request, lines);
  }

  async declineLogs(): Promise<void> {
    this.#demandUp();
  }

  async close(): Promise<void> {}

  #demandUp(): void {
    if (this.#cut.signal.aborted) throw new LinkUnreachableFault('the link is cut');
  }

  #node(): AgentIdentity {
    this.#demandUp();
    const { token, agent } = this.#credentials;
    const node = this.#registrar.identify(token);
    if (!node) throw new LinkRefusedFault(401, 'auth_invalid');
    const run = parseAgentRun(agent);
    if (!run) throw new LinkRefusedFault(403, 'node_proof_invalid');
    return { ...node, run };
  }

  async #asHolder<T>(call: (node: AgentIdentity) => Promise<T>): Promise<T> {
    try {
      return await call(this.#node());
    } catch (thrown) {
      throw thrown instanceof NodeHeldFault ? new LinkRefusedFault(409, NODE_HELD) : thrown;
    }
  }
}
