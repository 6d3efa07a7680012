import { setMaxListeners } from 'node:events';
import { join } from 'node:path';

import { cacheScope } from '../crds/keys/index.js';
import { createApi, startServer } from '../api/index.js';
import { bootstrap, type DevelopmentAccess } from '../pkg/bootstrap/index.js';
import { createControllers } from '../controllers/index.js';
import { Agent, type Engine, createMemoryDisk } from '../pkg/agent/index.js';
import { Keyring } from '../pkg/auth/index.js';
import { readProductVersion } from '../pkg/version/index.js';
import { Client } from '../pkg/client/index.js';
import { type Clock, type Random, sleep } from '../pkg/clock/index.js';
import { loadSettings } from '../pkg/config/index.js';
import { toPlacementPolicy } from '../pkg/fleet/index.js';
import { HttpLink } from '../pkg/link/index.js';
import type { Logger } from '../pkg/log/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import { EmbeddedSecretStore, SecretKeyring } from '../pkg/secrets/index.js';
import { openTracer, type Tracer } from '../pkg/trace/index.js';
import { MemoryStore, type Store, WatchCache } from '../pkg/store/index.js';
import { stopContainers } from './parts/engine.js';
import { PartFault } from './parts/part.js';
import { mintJoinToken, fetchNode } from './parts/nodes.js';

const READY_WITHIN_MS = 30_000;

export interface InMemoryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly port: number;
  readonly nodes: number;
  readonly engine: Engine;
  /** Left out: one in memory. */
  readonly store?: Store;
  /** Where spans are sent. Left out: nothing is traced. */
  readonly traceEndpoint?: string | undefined;
  /** As its variable has it. Left out: the default of the setting. */
  readonly traceRatio?: string | undefined;
  /** For the tokens, which must be in a file. */
  readonly folder: string;
}

interface RunningAgent {
  readonly nodeId: string;
  readonly ended: Promise<void>;
}

/** A whole Mooring in this process. */
export interface InMemoryMooring {
  readonly url: string;
  readonly access: DevelopmentAccess;
  /** Resolves when everything has ended in order. */
  stop(): Promise<void>;
}

/** Runs the API server, the loops and the agents here, on a store in memory. Resolves when every node is ready. */
export async function startInMemory(options: InMemoryOptions): Promise<InMemoryMooring> {
  const { clock, random, log, port, folder } = options;
  const environment = {
    MOORING_LISTEN: `127.0.0.1:${port}`,
    MOORING_RESERVED_HOST_PORTS: String(port),
    MOORING_TRACE_ENDPOINT: options.traceEndpoint,
    MOORING_TRACE_RATIO: options.traceRatio,
  };
  // The settings that it shows must fit this process: "moor doctor" would look for etcd.
  const settings = { ...loadSettings({ environment }).settings, etcdEndpoints: [] };
  const keyring = new Keyring([random.bytes(32)]);
  const env = { clock, random, log, store: options.store ?? new MemoryStore({ clock }), metrics: createMetrics() };
  const cache = new WatchCache({ ...env, ...cacheScope });
  const secrets = new EmbeddedSecretStore({
    store: env.store,
    random,
    keyring: new SecretKeyring([random.bytes(32)]),
    granted: settings.secretsNamespaces,
  });
  const services = ['mooring-server', 'mooring-controllers', 'mooring-agent'];
  const tracers = await Promise.all(services.map(service => openTracer(service, settings, env)));
  const [ofServer, ofControllers, ofAgents] = tracers;
  const api = createApi({ ...env, tracer: ofServer, cache, settings, keyring, secrets });
  const controllers = createControllers({
    ...env,
    ...settings,
    tracer: ofControllers,
    cache,
    secrets,
    policy: toPlacementPolicy(settings),
    holder: random.uuid(),
  });

  const [stopAgents, stopLoops, stopCache] = [new AbortController(), new AbortController(), new AbortController()];
  // Every loop and every agent adds listeners to one of these signals.
  setMaxListeners(0, stopAgents.signal, stopLoops.signal, stopCache.signal);
  const cacheEnded = cache.run(stopCache.signal, { history: settings.tailBuffer });
  const access = await bootstrap({ ...env, keyring, file: join(folder, 'tokens.json') });
  const server = await startServer(api, settings);
  const loopsEnded = controllers.run(stopLoops.signal);
  const agents = await startAgents(options, server.url, access.tenantToken, ofAgents, stopAgents.signal);
  return {
    url: server.url,
    access,
    async stop() {
      stopAgents.abort();
      await Promise.all(agents.map(({ ended }) => ended));
      // The record of these containers ends with this process, so they end with it too.
      const nodeIds = agents.map(({ nodeId }) => nodeId);
      await stopContainers(options.engine, nodeIds, { remove: true });
      stopLoops.abort();
      await loopsEnded;
      await server.close();
      for (const tracer of tracers) await tracer?.close();
      stopCache.abort();
      await cacheEnded;
    },
  };
}

async function startAgents(
  { clock, random, log, nodes, engine }: InMemoryOptions,
  server: string,
  token: string,
  tracer: Tracer | undefined,
  signal: AbortSignal,
): Promise<readonly RunningAgent[]> {
  const client = new Client({ server, token });
  try {
    const running: RunningAgent[] = [];
    for (let number = 1; number <= nodes; number++) {
      const name = `node-${number}`;
      const env = { clock, random, log, tracer, engine, link: new HttpLink({ server }), disk: createMemoryDisk() };
      const joinToken = await mintJoinToken(client, name);
      const namePrefix = number === 1 ? '' : `${name}-`;
      const ended = new Agent(env, { name, version: readProductVersion(), joinToken, namePrefix }).run(signal);
      running.push({ ended, nodeId: await untilReady(client, clock, name) });
    }
    return running;
  } finally {
    client.close();
  }
}

/** Resolves with the id of the node. */
async function untilReady(client: Client, clock: Clock, name: string): Promise<string> {
  const deadline = clock.monotonic() + READY_WITHIN_MS;
  for (;;) {
    const node = await fetchNode(client, name);
    if (node?.status === 'ready') return node.id;
    if (clock.monotonic() > deadline) throw new PartFault(`${name} did not become ready in time`);
    await sleep(clock, 50);
  }
}
