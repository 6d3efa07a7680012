import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

import { type FakeAnswer, FakeKv } from './fake-kv.testing.js';

/** A request as the fake server saw it, without its body. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly namespace: string | undefined;
}

/** What becomes of a request instead of an answer. */
export type InjectedFault = (request: SeenRequest) => FakeAnswer | 'garbage' | 'hang' | 'lose' | undefined;

const KV = /^mooring\/([a-z0-9-]+)\/(data|metadata|destroy)\/([a-z0-9-]+)\/([a-z0-9-]+)$/;
const KV_LIST = /^mooring\/([a-z0-9-]+)\/metadata\/([a-z0-9-]+)$/;
const denied: FakeAnswer = { status: 403, body: { errors: ['permission denied'] } };

/** A Vault server in this process, with one role, tokens that can die, a policy by namespace, a seal and mishaps. */
export class FakeVault {
  readonly kv = new FakeKv();
  readonly seen: SeenRequest[] = [];
  readonly tokens = new Set<string>(['root']);
  readonly granted = new Set(['deployments', 'resources']);
  sealed = false;
  /** What a login grants. */
  leaseSeconds = 3600;
  logins = 0;
  renewals = 0;
  mishap: InjectedFault = () => undefined;
  readonly #server: Server;

  readonly #scheme: 'http' | 'https';

  private constructor(tls: { key: string; cert: string } | undefined) {
    const serve = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response);
    this.#scheme = tls ? 'https' : 'http';
    this.#server = tls ? createSecureServer(tls, serve) : createServer(serve);
  }

  static async start(tls?: { key: string; cert: string }): Promise<FakeVault> {
    const vault = new FakeVault(tls);
    vault.#server.listen(0, '127.0.0.1');
    await once(vault.#server, 'listening');
    return vault;
  }

  get address(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.address);
    const namespace = request.headers['x-vault-namespace'] as string | undefined;
    const seen = { method: request.method ?? '', path: url.pathname.replace('/v1/', ''), namespace };
    this.seen.push(seen);
    const body: unknown = request.method === 'POST' ? await json(request) : undefined;
    const mishap = this.mishap(seen);
    if (mishap === 'hang') return;
    if (mishap === 'garbage') return void response.end('<html>proxy</html>');
    const token = String(request.headers['x-vault-token'] ?? '');
    const answer = typeof mishap === 'object' ? mishap : this.#answer(seen, url, token, body);
    if (mishap === 'lose') return void response.destroy();
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(answer.body === undefined ? '' : JSON.stringify(answer.body));
  }

  #answer({ method, path }: SeenRequest, url: URL, token: string, body: unknown): FakeAnswer {
    if (path === 'sys/seal-status') return { status: 200, body: { sealed: this.sealed } };
    if (this.sealed) return { status: 503, body: { errors: ['Vault is sealed'] } };
    if (path === 'auth/approle/login') return this.#logIn(body as { role_id: string; secret_id: string });
    if (!this.tokens.has(token)) return denied;
    const auth = { client_token: token, lease_duration: this.leaseSeconds, renewable: true };
    if (path === 'auth/token/renew-self') return (this.renewals += 1), { status: 200, body: { auth } };
    if (path === 'auth/token/lookup-self') {
      return { status: 200, body: { data: { ttl: token === 'root' ? 0 : this.leaseSeconds, renewable: true } } };
    }
    const [, lister, listed = ''] = KV_LIST.exec(path) ?? [];
    if (lister !== undefined && url.searchParams.get('list') === 'true') {
      return this.granted.has(listed) ? this.kv.list(`${lister}/${listed}/`) : denied;
    }
    const [, tenant, what, namespace = '', label] = KV.exec(path) ?? [];
    if (!this.granted.has(namespace)) return denied;
    const secret = `${tenant}/${namespace}/${label}`;
    if (what === 'data') return this.kv.data(method, secret, Number(url.searchParams.get('version')), body);
    if (what === 'metadata') return this.kv.metadata(method, secret, body);
    return this.kv.destroy(secret, body as { versions: number[] });
  }

  #logIn({ role_id, secret_id }: { role_id: string; secret_id: string }): FakeAnswer {
    if (role_id !== 'role' || secret_id !== 'secret-id') return { status: 400, body: { errors: ['invalid role'] } };
    const token = `login-${++this.logins}`;
    this.tokens.add(token);
    const auth = { client_token: token, lease_duration: this.leaseSeconds, renewable: true };
    return { status: 200, body: { auth } };
  }
}
