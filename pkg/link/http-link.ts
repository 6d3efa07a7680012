import { Readable } from 'node:stream';

import { Agent, errors, request } from 'undici';

import type { SeenNetwork } from '../../crds/network/index.js';
import type { SeenVolume } from '../../crds/volume/index.js';
import { asError } from '../fault/index.js';
import { readDocuments } from '../ndjson/index.js';
import { Secret } from '../secrets/index.js';
import {
  type AgentLink,
  type AssignmentLine,
  type EnrolReply,
  type EnrolRequest,
  type EnvironmentReply,
  type EnvironmentRequest,
  type Heartbeat,
  type HeartbeatReply,
  type HeldContainer,
  LinkRefusedFault,
  LinkUnreachableFault,
  type LogLine,
  type LogRequest,
  type PullCredential,
  type PullCredentialReply,
  type RenewRequest,
  type ReportBatch,
  SILENCE_LIMIT_MS,
} from './agent-link.js';
import { type NodeCredentials, signOpenRequest, signRequest, TIME_HEADER } from './request-proof.js';

type Response = Awaited<ReturnType<typeof request>>;

const ANSWER_LIMIT_MS = 10_000;
const CONNECT_LIMIT_MS = 5_000;

export interface HttpLinkOptions {
  /** Address of the API server, or of the load balancer in front of several. */
  readonly server: string;
  /** PEM of the certificate authority to trust, when the server's is not a public one. */
  readonly ca?: string;
}

/** The link over HTTP, dialled by the agent. */
export class HttpLink implements AgentLink {
  readonly #server: string;
  readonly #dispatcher: Agent;
  #credentials: NodeCredentials | undefined;

  constructor({ server, ca }: HttpLinkOptions) {
    this.#server = server.replace(/\/+$/, '');
    this.#dispatcher = new Agent({
      connect: { timeout: CONNECT_LIMIT_MS, ...(ca === undefined ? {} : { ca }) },
      headersTimeout: ANSWER_LIMIT_MS,
      bodyTimeout: ANSWER_LIMIT_MS,
    });
  }

  present(credentials: NodeCredentials): void {
    this.#credentials = credentials;
  }

  enrol(body: EnrolRequest, joinToken: string): Promise<EnrolReply> {
    return this.#post<EnrolReply>('/api/v1/nodes', body, { authorization: `Bearer ${joinToken}` });
  }

  renew(body: RenewRequest): Promise<EnrolReply> {
    const path = '/agent/v1/token';
    const request = { method: 'POST', path, body: JSON.stringify(body) };
    return this.#post<EnrolReply>(
      path,
      body,
      this.#credentials ? signOpenRequest(this.#credentials, body.nodeId, request) : {},
    );
  }

  heartbeat(body: Heartbeat): Promise<HeartbeatReply> {
    return this.#post<HeartbeatReply>('/agent/v1/heartbeat', body);
  }

  async report(body: ReportBatch): Promise<void> {
    await this.#post('/agent/v1/reports', body);
  }

  async reportNetworks(networks: readonly SeenNetwork[]): Promise<void> {
    await this.#post('/agent/v1/networks', { networks });
  }

  async reportVolumes(volumes: readonly SeenVolume[]): Promise<void> {
    await this.#post('/agent/v1/volumes', { volumes });
  }

  async findGoneNodes(ids: readonly string[]): Promise<readonly string[]> {
    return (await this.#post<{ readonly gone: readonly string[] }>('/agent/v1/gone-nodes', { ids })).gone;
  }

  async findDoubles(containers: readonly HeldContainer[]): Promise<readonly string[]> {
    return (await this.#post<{ readonly doubled: readonly string[] }>('/agent/v1/doubles', { containers })).doubled;
  }

  async findGoneDeployments(uids: readonly string[]): Promise<readonly string[]> {
    return (await this.#post<{ readonly gone: readonly string[] }>('/agent/v1/gone-deployments', { uids })).gone;
  }

  async environment(body: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>> {
    const { environment } = await this.#post<EnvironmentReply>('/agent/v1/environment', body);
    return new Map(Object.entries(environment).map(([name, text]) => [name, new Secret(text)]));
  }

  async pullCredential(body: EnvironmentRequest): Promise<PullCredential> {
    const { secret, login } = await this.#post<PullCredentialReply>('/agent/v1/pull-credential', body);
    if (!login) return { kind: 'none', secret };
    return { kind: 'found', username: login.username, password: new Secret(login.password), secret };
  }

  async assignments(onLine: (line: AssignmentLine) => void, signal: AbortSignal): Promise<void> {
    try {
      const answer = await this.#ask(`${this.#server}/agent/v1/assignments`, {
        method: 'GET',
        headers: this.#prove('GET', '/agent/v1/assignments'),
        bodyTimeout: SILENCE_LIMIT_MS,
        signal,
      });
      for await (const line of readDocuments(answer.body)) onLine(readLine(line as AssignmentLine));
    } catch (thrown) {
      if (!signal.aborted) throw toLinkFault(thrown);
    }
    if (!signal.aborted) throw new LinkUnreachableFault('the assignment stream ended');
  }

  async sendLogs({ id, server }: LogRequest, lines: AsyncIterable<LogLine>, signal: AbortSignal): Promise<void> {
    const body = Readable.from(encodeLines(lines), { objectMode: false, signal });
    const url = logsUrl(server, id);
    try {
      const answer = await this.#ask(url, {
        method: 'POST',
        headers: { ...this.#prove('POST', new URL(url).pathname), 'content-type': 'application/x-ndjson' },
        body,
        headersTimeout: 0,
        signal,
      });
      await answer.body.dump();
    } catch (thrown) {
      if (!signal.aborted) throw toLinkFault(thrown);
    } finally {
      body.destroy();
    }
  }

  async declineLogs({ id, server }: LogRequest): Promise<void> {
    const url = logsUrl(server, id);
    await this.#call(url, { method: 'DELETE', headers: this.#prove('DELETE', new URL(url).pathname) });
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  #prove(method: string, path: string, body?: string): Record<string, string> {
    return this.#credentials ? signRequest(this.#credentials, { method, path, body }) : {};
  }

  #post<Reply>(path: string, document: unknown, credentials?: Record<string, string>): Promise<Reply> {
    const body = JSON.stringify(document);
    const headers = { ...(credentials ?? this.#prove('POST', path, body)), 'content-type': 'application/json' };
    return this.#call<Reply>(`${this.#server}${path}`, { method: 'POST', headers, body });
  }

  async #call<Reply>(url: string, options: Parameters<typeof request>[1]): Promise<Reply> {
    try {
      const text = await (await this.#ask(url, options)).body.text();
      return (text === '' ? {} : JSON.parse(text)) as Reply;
    } catch (thrown) {
      throw toLinkFault(thrown);
    }
  }

  async #ask(url: string, options: Parameters<typeof request>[1]): Promise<Response> {
    // A server that was authenticated must not send the agent to one that is not.
    if (this.#server.startsWith('https:') && !url.startsWith('https:')) {
      throw new LinkUnreachableFault('a log stream was requested without TLS: set "advertise" of the server to https');
    }
    const answer = await request(url, { ...options, dispatcher: this.#dispatcher });
    if (answer.statusCode < 300) return answer;
    const time = Number(answer.headers[TIME_HEADER]);
    throw new LinkRefusedFault(answer.statusCode, await readCode(answer), time > 0 ? time : undefined);
  }
}

/** What a snapshot has: it replaces everything, so what one leaves out would be taken for gone. */
const SNAPSHOT_PARTS = ['replicas', 'pullTickets', 'store', 'networks', 'volumes'];

function readLine(line: AssignmentLine): AssignmentLine {
  if (line.type === 'snapshot' && !SNAPSHOT_PARTS.every(part => Object.hasOwn(line, part)))
    throw new LinkUnreachableFault('the control plane sent a snapshot of assignments that is not whole');
  return line;
}

function logsUrl(server: string, id: string): string {
  return `${server.replace(/\/+$/, '')}/agent/v1/logs/${encodeURIComponent(id)}`;
}

/** Begins with an empty line: undici sends the request with its first bytes, and the container may be silent. */
async function* encodeLines(lines: AsyncIterable<LogLine>): AsyncGenerator<Buffer> {
  yield Buffer.from('\n');
  for await (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`);
}

async function readCode(response: Response): Promise<string> {
  try {
    const record = (await response.body.json()) as { readonly code?: unknown };
    return typeof record.code === 'string' ? record.code : 'unknown';
  } catch {
    return 'unknown'; // a proxy in between responds without a rejection
  }
}

function toLinkFault(thrown: unknown): Error {
  if (thrown instanceof LinkRefusedFault || thrown instanceof LinkUnreachableFault) return thrown;
  const error = asError(thrown);
  const code = error instanceof errors.UndiciError ? error.code : 'connection_failed';
  return new LinkUnreachableFault(`the control plane did not respond: ${code}`, { cause: error });
}
