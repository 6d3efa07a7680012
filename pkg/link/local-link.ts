import type { Secret } from '../secrets/index.js';
import type { AgentDispatcher } from './agent-dispatcher.js';
import { type AgentLink, LinkRefusedFault, LinkUnreachableFault } from './agent-link.js';
import { toEnvironmentRefusal } from './deliver-environment.js';
import type {
  AssignmentLine,
  EnrolReply,
  EnrolRequest,
  EnvironmentRequest,
  Heartbeat,
  HeartbeatReply,
  LogLine,
  LogRequest,
  NodeIdentity,
  RenewRequest,
  ReportBatch,
} from './messages.js';

/** What the dispatcher leaves to the API: enrolment and authentication of nodes. */
export interface Registrar {
  enrol(request: EnrolRequest, joinToken: string): Promise<EnrolReply>;
  renew(request: RenewRequest): Promise<EnrolReply>;
  /** The node that a token belongs to. */
  identify(token: string): NodeIdentity | undefined;
  /** Receives a requested log stream. */
  takeLogs?(request: LogRequest, lines: AsyncIterable<LogLine>): Promise<void>;
}

/** The link inside one process: the agent calls the dispatcher directly. For simulations and tests. */
export class LocalLink implements AgentLink {
  readonly #dispatcher: AgentDispatcher;
  readonly #registrar: Registrar;
  readonly #broken = new Set<(fault: LinkUnreachableFault) => void>();
  #token = '';
  #up = true;

  constructor(dispatcher: AgentDispatcher, registrar: Registrar) {
    this.#dispatcher = dispatcher;
    this.#registrar = registrar;
  }

  /** Cuts or restores the link. Cutting it breaks the open streams. */
  set up(up: boolean) {
    this.#up = up;
    if (up) return;
    for (const breaks of this.#broken) breaks(new LinkUnreachableFault('the link was cut'));
  }

  present(token: string): void {
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
    await new Promise<void>((resolve, reject) => {
      let close: () => void = () => undefined;
      const end = () => {
        close();
        this.#broken.delete(breaks);
        signal.removeEventListener('abort', finish);
      };
      const breaks = (fault: LinkUnreachableFault) => {
        end();
        reject(fault);
      };
      const finish = () => {
        end();
        resolve();
      };
      this.#broken.add(breaks);
      signal.addEventListener('abort', finish, { once: true });
      close = this.#dispatcher.assignments(node, onLine);
    });
  }

  async report(batch: ReportBatch): Promise<void> {
    const intake = await this.#dispatcher.report(this.#node(), batch);
    if (!intake.accepted) throw new LinkRefusedFault(403, 'auth_forbidden');
  }

  async environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>> {
    const answer = await this.#dispatcher.environment(this.#node(), request);
    if (answer.kind === 'ready') return answer.environment;
    const { status, code } = toEnvironmentRefusal(answer);
    throw new LinkRefusedFault(status, code);
  }

  async sendLogs(request: LogRequest, lines: AsyncIterable<LogLine>): Promise<void> {
    this.#demandUp();
    await this.#registrar.takeLogs?.(request, lines);
  }

  async declineLogs(): Promise<void> {
    this.#demandUp();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #demandUp(): void {
    if (!this.#up) throw new LinkUnreachableFault('the link is cut');
  }

  #node(): NodeIdentity {
    this.#demandUp();
    const node = this.#registrar.identify(this.#token);
    if (!node) throw new LinkRefusedFault(401, 'auth_invalid');
    return node;
  }
}
