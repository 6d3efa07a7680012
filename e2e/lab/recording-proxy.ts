import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Place } from './canary.js';

/** Stands before an API server and keeps every request and every answer, by what was asked for. */
export class RecordingProxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #heard = new Map<string, Buffer[]>();

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
  }

  static async start(target: string): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Everything recorded: one place for the requests and one for the answers of each route. */
  get places(): readonly Place[] {
    return [...this.#heard].map(([name, chunks]) => ({ name, bytes: Buffer.concat(chunks) }));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = '', url = '', headers } = incoming;
    const route = `${method} ${url.split('?')[0]}`;
    const { hostname, port, host } = this.#target;
    const onward = request({ hostname, port, method, path: url, headers: { ...headers, host }, agent: false });
    onward.on('response', answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      this.#keep(`${route}, answer`, answer);
      answer.on('error', () => outgoing.destroy()).pipe(outgoing);
    });
    // The client handles a server that was killed.
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    this.#keep(`${route}, request`, incoming);
    incoming.pipe(onward);
  }

  #keep(name: string, message: IncomingMessage): void {
    const chunks = this.#heard.get(name) ?? [];
    this.#heard.set(name, chunks);
    chunks.push(Buffer.from(`${message.url ?? ''} ${JSON.stringify(message.headers)}\n`));
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
  }
}
