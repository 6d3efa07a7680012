import {
  type AgentLink,
  type AssignmentLine,
  type EnrolReply,
  environmentRefusal,
  type EnvironmentRequest,
  type Heartbeat,
  type HeartbeatReply,
  LinkRefusedFault,
  LinkUnreachableFault,
  type NodeDesk,
  type NodeIdentity,
  type ReportBatch,
} from '../../pkg/link/index.js';
import type { Secret } from '../../pkg/secrets/index.js';
import type { Incarnation } from '../../pkg/simulation/index.js';
import { LineStream } from './line-stream.js';

const CALL_DEADLINE_MS = 10_000;
const TOKEN_LIFE_MS = 86_400_000;

/** An API server that answers agents. */
export interface DeskHolder {
  readonly life: Incarnation;
  readonly desk: NodeDesk;
}

const cut = () => new LinkUnreachableFault('the link broke');

/** The link of one life of an agent, to whichever API server answers. The node was enrolled beforehand. */
export class RemoteLink implements AgentLink {
  readonly #agent: Incarnation;
  readonly #node: NodeIdentity;
  readonly #holders: () => readonly DeskHolder[];

  constructor(agent: Incarnation, node: NodeIdentity, holders: () => readonly DeskHolder[]) {
    this.#agent = agent;
    this.#node = node;
    this.#holders = holders;
  }

  present(): void {}

  enrol(): Promise<EnrolReply> {
    return Promise.resolve(this.#token());
  }

  renew(): Promise<EnrolReply> {
    return Promise.resolve(this.#token());
  }

  async heartbeat(beat: Heartbeat): Promise<HeartbeatReply> {
    const reply = await this.#call('heartbeat', desk => desk.heartbeat(this.#node, beat));
    if (!reply) throw new LinkRefusedFault(404, 'resource_not_found');
    return reply;
  }

  async report(batch: ReportBatch): Promise<void> {
    const intake = await this.#call('report', desk => desk.report(this.#node, batch));
    if (!intake.accepted) throw new LinkRefusedFault(403, 'auth_forbidden');
  }

  async environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>> {
    const answer = await this.#call('environment', desk => desk.environment(this.#node, request));
    if (answer.kind === 'ready') return answer.environment;
    const { status, code } = environmentRefusal(answer);
    throw new LinkRefusedFault(status, code);
  }

  /** Lines arrive in order and late, until the stream breaks, the server dies or the agent does. */
  assignments(onLine: (line: AssignmentLine) => void, signal: AbortSignal): Promise<void> {
    const holder = this.#reach();
    if (holder) return new LineStream(this.#agent, holder, onLine).run(this.#node, signal);
    return new Promise((_resolve, reject) => {
      this.#agent.later(100, 'finds no server', () => reject(cut()));
    });
  }

  sendLogs(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #reach(): DeskHolder | undefined {
    const answering = this.#holders().filter(({ life }) => life.alive && !life.cutOff('others'));
    return answering.length > 0 && !this.#agent.cutOff('others') ? this.#agent.world.pick(answering) : undefined;
  }

  /** A server that dies over a request, or never answers, is noticed. */
  #call<T>(label: string, effect: (desk: NodeDesk) => Promise<T>): Promise<T> {
    const faults = { wire: 'others', unreachable: cut, unknown: cut } as const;
    const atServer = () =>
      new Promise<T>((resolve, reject) => {
        const holder = this.#reach();
        if (!holder) return reject(cut());
        const forget = [
          holder.life.onEnd(() => reject(cut())),
          this.#agent.world.after(CALL_DEADLINE_MS, `${label} times out`, () => reject(cut())),
        ];
        effect(holder.desk)
          .then(resolve, reject)
          .finally(() => forget.forEach(each => each()));
      });
    return this.#agent.call(label, atServer, faults);
  }

  #token(): EnrolReply {
    const expiresAt = new Date(this.#agent.clock.now() + TOKEN_LIFE_MS).toISOString();
    return { node: this.#node, token: this.#node.id, expiresAt };
  }
}
