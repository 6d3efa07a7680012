import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';

import { type CertificateFiles, CertificateFolder } from '../certificates/index.js';
import { type Clock, systemClock } from '../clock/index.js';
import type { CredentialLookup, RegistryCredentials } from './challenge.js';
import { ImageChecker } from './image-checker.js';
import type { RegistrySettings } from './policy.js';
import type { HostResolver } from './transport.js';

export const REGISTRY_TENANT = '7d0a5c1e-0000-4000-8000-000000000001';
export const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
export const DIGEST = `sha256:${'a'.repeat(64)}`;
export const REGISTRY_CREDENTIAL = { username: 'robot', password: 'sesame' };

/** The machine's clock with a second of two tenths, so that a deadline is soon over. For nothing that must be in time. */
export const hurriedClock: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms / 5, fire) };

/** A registry that behaves as a test tells it to. */
export class ScriptedRegistry {
  readonly #server: Server;
  /** Everything it was asked. */
  readonly requests: IncomingMessage[] = [];
  serve: RequestListener = (_request, response) => void response.writeHead(500).end();

  constructor() {
    this.#server = createServer((request, response) => {
      this.requests.push(request);
      this.serve(request, response);
    });
    this.#server.on('clientError', (_error, socket) => void (socket as Socket).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  }

  async start(address = '127.0.0.1', port = 0): Promise<this> {
    this.#server.listen(port, address);
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** A listener that must not be connected to, and that records connections. */
export class ForbiddenListener {
  readonly #server: TcpServer;
  connections = 0;

  constructor() {
    this.#server = createTcpServer(socket => {
      this.connections++;
      socket.destroy();
    });
  }

  /** On every address of this machine. */
  async start(): Promise<this> {
    this.#server.listen(0, '0.0.0.0');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** A server of bare bytes. */
export async function startByteServer(
  serve: (socket: Socket) => void,
): Promise<{ host: string; stop(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createTcpServer(socket => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export const safeSettings: RegistrySettings = {
  registryDefault: '',
  registryAllow: [],
  registryInsecure: [],
  registryRealms: [],
  registryCaFile: '',
};

/** Credentials that are the same for every tenant and registry. */
export function createCredentials(answer: CredentialLookup): RegistryCredentials {
  return { credentialsFor: () => Promise.resolve(answer) };
}

/** A checker that resolves no name but those it is given. */
export function createChecker(options: {
  readonly settings?: Partial<RegistrySettings>;
  readonly answer?: CredentialLookup;
  readonly credentials?: RegistryCredentials;
  readonly resolve?: HostResolver;
  readonly clock?: Clock;
}): ImageChecker {
  return new ImageChecker({
    settings: { ...safeSettings, ...options.settings },
    credentials: options.credentials ?? createCredentials(options.answer ?? { kind: 'none' }),
    clock: options.clock ?? systemClock,
    resolve: options.resolve ?? (() => Promise.resolve([])),
  });
}

/** Answers with a status, headers and a body. */
export function answer(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
  body = '',
): void {
  response.writeHead(status, headers).end(body);
}

/** The body with which a registry says what went wrong. */
export function formatErrors(...codes: readonly string[]): string {
  return JSON.stringify({ errors: codes.map(code => ({ code, message: '', detail: null })) });
}

/** A list of words, for tables. */
export function splitIntoWords(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** An authority, and a certificate of it for `127.0.0.1` and `registry.test`. */
export function issueRegistryCertificate(folder: string): CertificateFiles {
  const authority = new CertificateFolder({ folder, authorityName: 'lab authority', now: Date.now });
  return authority.ensure('lab-registry', ['127.0.0.1', 'registry.test'], ['server']);
}
