import type { SeenNetwork } from '../../crds/network/index.js';
import type { SeenVolume } from '../../crds/volume/index.js';
import type { StoredToken } from '../../crds/tenant/index.js';
import {
  type AgentIdentity,
  type AgentLink,
  type AssignmentLine,
  type EnrolReply,
  type EnrolRequest,
  toEnvironmentRejection,
  type EnvironmentRequest,
  type Heartbeat,
  type HeartbeatReply,
  type HeldContainer,
  LinkRefusedFault,
  LinkUnreachableFault,
  type NodeCredentials,
  NODE_HELD,
  NodeHeldFault,
  type PullCredential,
  type RenewRequest,
  type ReportBatch,
  signRequest,
} from '../../pkg/link/index.js';
import type { Secret } from '../../pkg/secrets/index.js';
import type { SimProcess } from '../../dev/simulation/index.js';
import type { Answer, ApiServer } from './front.js';
import { LineStream } from './line-stream.js';
import type { Signatures } from './signatures.js';

const CALL_DEADLINE_MS = 10_000;

/** What the links of all agents share. */
export interface AgentServices {
  /** API servers that answer now. */
  readonly servers: readonly ApiServer[];
  /** Told of every ticket for which secrets were handed out. */
  readonly handedOut: (ticket: string) => void;
  readonly signatures: Signatures;
}

const cut = () => new LinkUnreachableFault('the link broke');

/** The link of one life of an agent, to whichever API server answers. */
export class RemoteLink implements AgentLink {
  readonly #agent: SimProcess;
  readonly #services: AgentServices;
  #credentials: NodeCredentials | undefined;

  constructor(agent: SimProcess, services: AgentServices) {
    this.#agent = agent;
    this.#services = services;
  }

  present(credentials: NodeCredentials): void {
    this.#credentials = credentials;
  }

  async enrol(document: EnrolRequest, joinToken: string): Promise<EnrolReply> {
    const token = JSON.parse(joinToken) as StoredToken;
    const { id, tenant = '' } = token;
    const caller = { kind: 'join', id, tenant, token } as const;
    const request = { method: 'POST', path: '/api/v1/nodes', tenant, document, caller } as const;
    return this.#recognised(await this.#call('enrol', ({ front }) => front.ask(request)));
  }

  async renew(document: RenewRequest): Promise<EnrolReply> {
    const request = { method: 'POST', path: '/agent/v1/token', tenant: '', document } as const;
    return this.#recognised(await this.#call('renew', ({ front }) => front.ask(request)));
  }

  async heartbeat(beat: Heartbeat): Promise<HeartbeatReply> {
    const reply = await this.#callAs('heartbeat', beat, ({ dispatcher }, node) => dispatcher.heartbeat(node, beat));
    if (!reply) throw new LinkRefusedFault(404, 'resource_not_found');
    return reply;
  }

  async report(batch: ReportBatch): Promise<void> {
    const intake = await this.#callAs('reports', batch, ({ dispatcher }, node) => dispatcher.report(node, batch));
    if (!intake.accepted) throw new LinkRefusedFault(403, 'auth_forbidden');
  }

  reportNetworks(networks: readonly SeenNetwork[]): Promise<void> {
    return this.#callAs('networks', { networks }, ({ dispatcher }, node) => dispatcher.reportNetworks(node, networks));
  }

  reportVolumes(volumes: readonly SeenVolume[]): Promise<void> {
    return this.#callAs('volumes', { volumes }, ({ dispatcher }, node) => dispatcher.reportVolumes(node, volumes));
  }

  findGoneNodes(ids: readonly string[]): Promise<readonly string[]> {
    return this.#callAs('gone-nodes', { ids }, ({ dispatcher }, node) => dispatcher.findGoneNodes(node, ids));
  }

  findDoubles(containers: readonly HeldContainer[]): Promise<readonly string[]> {
    return this.#callAs('doubles', { containers }, ({ dispatcher }, node) => dispatcher.findDoubles(node, containers));
  }

  async pullCredential(request: EnvironmentRequest): Promise<PullCredential> {
    const answer = await this.#callAs('pull-credential', request, ({ dispatcher }, node) =>
      dispatcher.pullCredential(node, request),
    );
    if (answer.kind === 'found' || answer.kind === 'none') return answer;
    const { status, code } = toEnvironmentRejection(answer);
    throw new LinkRefusedFault(status, code);
  }

  findGoneDeployments(uids: readonly string[]): Promise<readonly string[]> {
    return this.#callAs('gone-deployments', { uids }, ({ dispatcher }, node) =>
      dispatcher.findGoneDeployments(node, uids),
    );
  }

  /** Somebody on the wire repeats the request now and then, at another server and at the same time. */
  async environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>> {
    const ask = () =>
      this.#callAs('environment', request, async (server, node) => {
        const answer = await server.dispatcher.environment(node, request);
        if (answer.kind === 'ready' && server.life.alive) this.#services.handedOut(request.ticket);
        return answer;
      });
    const { world, faults } = this.#agent;
    if (world.chance(faults.repeated)) void ask().catch(() => undefined);
    const answer = await ask();
    if (answer.kind === 'ready') return answer.environment;
    const { status, code } = toEnvironmentRejection(answer);
    throw new LinkRefusedFault(status, code);
  }

  /** Lines arrive in order and late, until the stream breaks, the server dies or the agent does. */
  async assignments(onLine: (line: AssignmentLine) => void, signal: AbortSignal): Promise<void> {
    const { server, node } = await this.#callAs('assignments', undefined, async (server, node) => {
      await server.dispatcher.demandHolder(node);
      return { server, node };
    });
    if (!server.life.alive) throw cut();
    await new LineStream(this.#agent, server, onLine).run(node, signal);
  }

  sendLogs(): Promise<void> {
    return Promise.resolve();
  }

  declineLogs(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #recognised(answer: Answer): EnrolReply {
    if (answer.told === 'unknown') throw cut();
    if (answer.told === 'refused') throw new LinkRefusedFault(answer.status, answer.code, answer.serverTime);
    return answer.body as unknown as EnrolReply;
  }

  /** A request with the agent's token and proof, which the server checks as the product does. */
  #callAs<T>(
    name: string,
    document: unknown,
    effect: (server: ApiServer, node: AgentIdentity) => Promise<T>,
  ): Promise<T> {
    const credentials = this.#credentials;
    if (!credentials) throw new LinkRefusedFault(401, 'auth_invalid');
    const method = document === undefined ? 'GET' : 'POST';
    const path = `/agent/v1/${name}`;
    const sign = (text: string) => this.#services.signatures.make(credentials.sign, text);
    const sent = document === undefined ? undefined : JSON.stringify(document);
    const headers = signRequest({ ...credentials, sign }, { method, path, body: sent });
    return this.#call(name, async server => {
      const body = document === undefined ? 'none' : 'json';
      const node = await server.front.identify({ method, path, headers, body });
      return effect(server, node).catch((thrown: unknown) => {
        throw thrown instanceof NodeHeldFault ? new LinkRefusedFault(409, NODE_HELD) : thrown;
      });
    });
  }

  #reach(): ApiServer | undefined {
    const answering = this.#services.servers.filter(({ life }) => !life.cutOff('others'));
    return answering.length > 0 && !this.#agent.cutOff('others') ? this.#agent.world.pick(answering) : undefined;
  }

  /** A server that dies over a request, or never answers, is noticed. */
  #call<T>(label: string, effect: (server: ApiServer) => Promise<T>): Promise<T> {
    const faults = { wire: 'others', unreachable: cut, unknown: cut } as const;
    const atServer = () =>
      new Promise<T>((resolve, reject) => {
        const server = this.#reach();
        if (!server) return reject(cut());
        const forget = [
          server.life.onEnd(() => reject(cut())),
          this.#agent.world.after(CALL_DEADLINE_MS, `${label} times out`, () => reject(cut())),
        ];
        this.#agent.world.enter(server.life);
        effect(server)
          .then(resolve, reject)
          .finally(() => forget.forEach(each => each()));
      });
    return this.#agent.call(label, atServer, faults);
  }
}
