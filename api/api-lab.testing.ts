import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

import { request } from 'undici';

import type { StoredNode } from '../crds/node/index.js';
import type { StoredTenant, StoredToken } from '../crds/tenant/index.js';
import { cacheScope, keys } from '../crds/keys/index.js';
import type { Kind } from '../crds/kind/index.js';
import { Keyring, mintToken, type TokenDraft } from '../pkg/auth/index.js';
import { type Clock, systemClock, systemRandom } from '../pkg/clock/index.js';
import { loadSettings, type Settings } from '../pkg/config/index.js';
import { formatAgentRun, type NodeCredentials, signRequest } from '../pkg/link/index.js';
import { type Logger, silentLogger } from '../pkg/log/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import type { ImageFacts } from '../pkg/registry/index.js';
import type { StoreReport } from '../pkg/process/store-monitor.js';
import { EmbeddedSecretStore, SecretKeyring, type SecretStore } from '../pkg/secrets/index.js';
import { create, MemoryStore, type Store, WatchCache } from '../pkg/store/index.js';
import type { Tracer } from '../pkg/trace/index.js';
import { type Api, createApi } from './api.js';
import { type RunningServer, startServer } from './server.js';

/** What a request came to, with the body read. */
export interface LabResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export interface AskOptions {
  readonly token?: string;
  readonly body?: unknown;
  /** Sent as it is. */
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface LabOptions {
  readonly store?: Store;
  readonly settings?: Partial<Settings>;
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly keyring?: Keyring;
  /** Default: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Default: images are not checked. */
  readonly images?: ImageFacts;
  /** Default: sealed into the store of the lab. */
  readonly secrets?: SecretStore;
  /** Default: it is not known how full the store is. */
  readonly storeReport?: () => StoreReport;
  /** Default: those that exist. */
  readonly kinds?: readonly Kind[];
}

/** A real server over HTTP on a store of its own, with two tenants, for tests. */
export class ApiLab {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly keyring: Keyring;
  readonly a = systemRandom.uuid();
  readonly b = systemRandom.uuid();
  readonly clock: Clock;
  readonly settings: Settings;
  readonly secrets: SecretStore;
  /** The keys of nodes, by their token. A node token that is not here was made by `token`, for `#nodeKey`. */
  readonly nodeKeys = new Map<string, KeyObject>();
  readonly #nodeKey = generateKeyPairSync('ed25519').privateKey;
  #lastProofAt = 0;
  api!: Api;
  server!: RunningServer;
  readonly #options: LabOptions;
  readonly #feeding = new AbortController();
  #fed: Promise<void> = Promise.resolve();

  constructor(options: LabOptions = {}) {
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    this.keyring = options.keyring ?? new Keyring([systemRandom.bytes(32)]);
    this.store = options.store ?? new MemoryStore({ clock: systemClock });
    const { settings } = loadSettings({ environment: {} });
    this.settings = {
      ...settings,
      listen: '127.0.0.1:0',
      rateLimitBurst: 100_000,
      openRateBurst: 100_000,
      ...options.settings,
    };
    this.secrets = options.secrets ?? this.#embedded();
    this.cache = new WatchCache({ store: this.store, clock: systemClock, log: silentLogger, ...cacheScope });
  }

  #embedded(): SecretStore {
    const keyring = new SecretKeyring([systemRandom.bytes(32)]);
    const granted = this.settings.secretsNamespaces;
    return new EmbeddedSecretStore({ store: this.store, keyring, random: systemRandom, granted });
  }

  async start(): Promise<this> {
    const { cache, store, keyring, settings, clock } = this;
    const { log = silentLogger, tracer, images, storeReport, kinds } = this.#options;
    const metrics = createMetrics({ processMetrics: false });
    const { secrets } = this;
    const deps = { store, cache, keyring, settings, clock, random: systemRandom, log, metrics, tracer, secrets };
    this.api = createApi({
      ...deps,
      ...(images && { images }),
      ...(storeReport && { storeReport }),
      ...(kinds && { kinds }),
    });
    this.#fed = cache.run(this.#feeding.signal, { history: settings.tailBuffer });
    await cache.ready;
    for (const id of [this.a, this.b]) await this.tenant(id);
    this.server = await startServer(this.api, settings, { clock, log });
    return this;
  }

  async stop(): Promise<void> {
    await this.server.close();
    this.#feeding.abort();
    await this.#fed;
  }

  async tenant(id: string): Promise<void> {
    const tenant: StoredTenant = { id, name: 'lab', createdAt: new Date(0).toISOString(), platform: false };
    await create(this.store, keys.tenant(id), tenant);
  }

  /** A token that is stored and known to the server. */
  async token(draft: Partial<TokenDraft> & Pick<TokenDraft, 'kind'>): Promise<{ text: string; stored: StoredToken }> {
    const minted = mintToken(
      { description: '', createdBy: 'lab', lifeSeconds: 3600, ...draft },
      { keyring: this.keyring, clock: this.clock, random: systemRandom },
    );
    const verdict = await create(this.store, keys.token(minted.stored.id), minted.stored);
    if (verdict.stored) await this.cache.reached(verdict.revision);
    if (draft.node !== undefined && draft.kind === 'node') await this.#storeNode(minted.stored);
    return minted;
  }

  /** The node that a token speaks for, where there is none. */
  async #storeNode({ tenant = '', node: id = '', nodeName: name = '' }: StoredToken): Promise<void> {
    const at = new Date(0).toISOString();
    const node: StoredNode = {
      metadata: { tenant, uid: id, generation: 1, createdAt: at, updatedAt: at, specHash: '' },
      id,
      name,
      labels: {},
      capacity: { cpu: 1000, memory: 2 ** 30, disk: 2 ** 30 },
      publicKey: exportPublicKey(this.#nodeKey),
      controlPlane: false,
      agentVersion: '0.1.0',
    };
    await create(this.store, keys.node(tenant, name), node);
    await this.cache.barrier();
  }

  /** What the agent of a node has. */
  credentials(token: string): NodeCredentials {
    const key = this.nodeKeys.get(token) ?? this.#nodeKey;
    return {
      token,
      agent: formatAgentRun({ id: 'f'.repeat(16), ended: [] }),
      sign: text => sign(null, Buffer.from(text), key).toString('base64'),
      now: () => (this.#lastProofAt = Math.max(this.clock.now(), this.#lastProofAt + 1)),
    };
  }

  /** A tenant's token with the role of an administrator, unless another is asked for. */
  async tenantToken(tenant: string, role: 'viewer' | 'deployer' | 'admin' = 'admin'): Promise<string> {
    return (await this.token({ kind: 'tenant', tenant, role })).text;
  }

  /** Sends a request. One with a node's token is signed with the node's key, as its agent does. */
  async ask(method: string, path: string, { token, body, raw, headers }: AskOptions = {}): Promise<LabResponse> {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const isCovered = method === 'POST' && !path.startsWith('/agent/v1/logs/');
    const covered = isCovered ? String(sent ?? '') : undefined;
    const proof = token?.startsWith('mnd_') && signRequest(this.credentials(token), { method, path, body: covered });
    // Less than half the work of fetch(), and tests ask some ten thousand times.
    const response = await request(`${this.server.url}${path}`, {
      method: method as 'GET',
      headers: {
        accept: '*/*',
        'user-agent': 'node',
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...proof,
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
    });
    const text = await response.body.text();
    const received = toHeaders(response.headers);
    const isJson = received.get('content-type')?.startsWith('application/json') && text !== '';
    const parsed = isJson ? (JSON.parse(text) as Record<string, unknown>) : {};
    return { status: response.statusCode, headers: received, text, body: parsed };
  }
}

function toHeaders(received: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received))
    for (const each of [value ?? []].flat()) headers.append(name, each);
  return headers;
}

/** An Ed25519 public key as an agent sends it. */
export function exportPublicKey(key: KeyObject): string {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64');
}

/** A deployment that is accepted as it is. */
export function webDeployment(name = 'web', more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { kind: 'Deployment', name, image: 'registry.example.com/shop/web:1.4.2', replicas: 2, ...more };
}
