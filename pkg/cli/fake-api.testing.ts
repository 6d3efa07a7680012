import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request that the fake server received. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly token: string | undefined;
  readonly ifMatch: string | undefined;
  readonly body: unknown;
}

type Reply =
  | { readonly status: number; readonly body: unknown }
  /** `cut` ends the connection after the lines, and not the answer. */
  | { readonly lines: readonly unknown[]; readonly cut?: true };

/** An API server for tests: answers `METHOD /path` from a table that the test writes, and records its requests. */
export class FakeApi {
  readonly got: ReceivedRequest[] = [];
  readonly replies = new Map<string, Reply | ((got: ReceivedRequest) => Reply)>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeApi> {
    const server = createServer();
    const api = new FakeApi(server);
    server.on('request', (request, response) => void api.#answer(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return api;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const got: ReceivedRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      token: request.headers.authorization?.replace('Bearer ', ''),
      ifMatch: request.headers['if-match'],
      body: text === '' ? undefined : JSON.parse(text),
    };
    this.got.push(got);
    const found = this.replies.get(`${got.method} ${got.path.replace(/[?&]limit=500/, '')}`) ?? notFound(got.path);
    const reply = typeof found === 'function' ? found(got) : found;
    if ('lines' in reply) {
      // A tail stays open after its last line.
      for (const line of reply.lines) response.write(typeof line === 'string' ? line : `${JSON.stringify(line)}\n`);
      if (reply.cut) response.write('', () => response.destroy());
      else if (typeof reply.lines[0] === 'string') response.end();
    } else response.writeHead(reply.status).end(JSON.stringify(reply.body));
  }
}

/** A rejection as the server sends it. */
export function replyRefused(status: number, ...codes: readonly string[]): Reply {
  const rejections = codes.map(code => ({
    code,
    field: code === 'image_required' ? 'image' : 'replicas',
    received: 'nothing',
    expected: 'something',
    why: 'Because.',
    doc: `http://x/docs/codes/${code}`,
  }));
  return { status, body: { ...rejections[0], rejections } };
}

function notFound(path: string): Reply {
  return replyRefused(404, path.includes('/deployments/') ? 'deployment_not_found' : 'endpoint_not_found');
}
