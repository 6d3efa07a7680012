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
  LinkRefusedFault,
  LinkUnreachableFault,
  type LogLine,
  type LogRequest,
  type NodeIdentity,
  type RenewRequest,
  type ReportBatch,
} from './agent-link.js';
import { toEnvironmentRefusal } from './deliver-environment.js';
import type { NodeCredentials } from './request-proof.js';

/** What the dispatcher leaves to the API: enrolment and authentication of nodes. */
export interface Registrar extends Pick<AgentLink, 'enrol' | 'renew'> {
  identify(token: string): NodeIdentity | undefined;
  /** Receives a requested log stream. */
  takeLogs?(request: LogRequest, lines: AsyncIterable<LogLine>): Promise<void>;
}

/** The link inside one process: the agent calls the dispatcher directly. For simulations and tests. */
export class LocalLink implements AgentLink {
  readonly #dispatcher: AgentDispatcher;
  readonly #registrar: Registrar;
  /** Aborted while the link is cut. */
  #cut = new AbortController();
  #token = '';

  constructor(dispatcher: AgentDispatcher, registrar: Registrar) {
    this.#dispatcher = dispatcher;
    this.#registrar = registrar;
  }

  /** Cuts or restores the link. Cutting it breaks the open streams. */
  set up(up: boolean) {
    if (!up) this.#cut.abort();
    else if (this.#cut.signal.aborted) this.#cut = new AbortController();
  }

  present({ token }: NodeCredentials): void {
    this.#token = token;
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
    const reply = await this.#dispatcher.heartbeat(this.#node(), beat);
    if (!reply) throw new LinkRefusedFault(404, 'resource_not_found');
    return reply;
  }

  async assignments(onLine: (line: AssignmentLine) => void, signal: AbortSignal): Promise<void> {
    const node = this.#node();
    if (signal.aborted) return;
    const end = AbortSignal.any([signal, this.#cut.signal]);
    const close = this.#dispatcher.assignments(node, onLine);
    end.addEventListener('abort', close, { once: true });
    await untilAborted(end);
    if (!signal.aborted) throw new LinkUnreachableFault('the link was cut');
  }

  async report(batch: ReportBatch): Promise<void> {
    const intake = await this.#dispatcher.report(this.#node(), batch);
    if (intake.accepted) return;
    throw 'waitMs' in intake ? new LinkRefusedFault(429, 'rate_limited') : new LinkRefusedFault(403, 'auth_forbidden');
  }

  async environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>> {
    const answer = await this.#dispatcher.environment(this.#node(), request);
    if (answer.kind === 'ready') return answer.environment;
    const { status, code } = toEnvironmentRefusal(answer);
    throw new LinkRefusedFault(status, code);
  }

  async findGoneNodes(ids: readonly string[]): Promise<readonly string[]> {
    return this.#dispatcher.findGoneNodes(this.#node(), ids);
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

  #node(): NodeIdentity {
    this.#demandUp();
    const node = this.#registrar.identify(this.#token);
    if (!node) throw new LinkRefusedFault(401, 'auth_invalid');
    return node;
  }
}
