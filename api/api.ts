import type { IncomingMessage, ServerResponse } from 'node:http';

import { type DeploymentFacts, type DeploymentLimits, emptyFacts } from '../crds/deployment/index.js';
import { ranges } from '../crds/keys/index.js';
import type { StoredNode } from '../crds/node/index.js';
import { defaultSecretLimits } from '../crds/secret/index.js';
import { parseContainerDefaults, parseReservedHostPorts, type Settings } from '../pkg/config/index.js';
import { countEvents, EventLeases, EventWriter } from '../pkg/events/index.js';
import { defineFleetIndexes, TenantUsage, toPlacementPolicy } from '../pkg/fleet/index.js';
import { createRegistryCredentials } from '../pkg/secrets/index.js';
import { AgentDispatcher, defineDispatcherIndexes, type NodePolicy, Tickets } from '../pkg/link/index.js';
import { value } from '../pkg/store/index.js';
import { ConnectionGate } from './access/connections.js';
import { RateLimiter } from './access/rate-limiter.js';
import { Seats } from './access/seats.js';
import { defineRelationIndexes } from './admission/relations.js';
import type { ApiDeps, ApiEnv } from './env.js';
import { createHostFilter } from './http/hosts.js';
import type { RequestRejection } from './http/reply.js';
import { checkRoutes, type Route } from './http/route.js';
import { createKubernetesRoutes } from './k8s/routes.js';
import { Pipeline } from './pipeline.js';
import { defineDeploymentIndex } from './routes/deployment/view.js';
import { createRoutes, listReaders } from './routes/index.js';
import { defineTokenIndex } from './routes/token/routes.js';
import { AssignmentStreams } from './stream/assignments.js';
import { LogRendezvous } from './stream/logs.js';
import { OpenStreams } from './stream/open-streams.js';
import { WatchHub } from './watch/watch-hub.js';
import { Committer } from './write/committer.js';

/** The API, without the socket it listens on. */
export interface Api {
  readonly routes: readonly Route[];
  /** Which connections are kept. */
  readonly connections: ConnectionGate;
  /** Answers one request. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Answers bytes that could not be parsed as a request. */
  reject(response: ServerResponse, refused: RequestRejection): void;
  /** Sets the URL of the server once it listens: for links to the documentation, and for agents. */
  setUrl(url: string, agentUrl?: string): void;
  /** Ends every stream in good order. Requests under way are answered. */
  close(): void;
}

/**
 * Builds the API. To be called before the cache is filled, since it defines indexes and records a history of changes.
 * Throws when a route does not declare who may call it.
 */
export function createApi(deps: ApiDeps): Api {
  const { cache, settings } = deps;
  defineDispatcherIndexes(cache);
  defineFleetIndexes(cache);
  defineRelationIndexes(cache);
  defineDeploymentIndex(cache);
  defineTokenIndex(cache);

  let [url, agentUrl] = ['', ''];
  const env = createEnv(
    deps,
    () => url,
    () => agentUrl,
  );
  const routes: readonly Route[] = createRoutes(
    env,
    createKubernetesRoutes(env, () => routes),
  );
  checkRoutes(routes);
  const connections = new ConnectionGate(env.seats);
  const pipeline = new Pipeline({ ...env, connections }, routes, createHostFilter(settings));
  return {
    routes,
    connections,
    handle: (request, response) => void pipeline.handle(request, response),
    reject: (response, refused) => pipeline.reject(response, refused),
    setUrl: (at, forAgents = at) => {
      [url, agentUrl] = [at, forAgents];
    },
    close: () => {
      env.watchHub.close();
      env.assignments.close();
      env.streams.close();
      env.dispatcher.close();
    },
  };
}

/** An hour: no request is under way for longer. */
const CONFLICT_KEYS_DAYS = 1 / 24;

function toNodePolicy({ registryAllow, registryInsecure, registryDefault }: Settings): NodePolicy {
  return { registries: { allow: registryAllow, insecure: registryInsecure, default: registryDefault } };
}

function createEnv(deps: ApiDeps, url: () => string, agentUrl: () => string): ApiEnv {
  const { cache, settings, clock, random, log, metrics } = deps;
  const store = countEvents(deps.store, metrics);
  const eventLeases = new EventLeases(store, clock, settings.eventRetentionDays);
  const events = new EventWriter(eventLeases, clock, random);
  const lastHeartbeatAt = new Map<string, number>();
  cache.subscribe(({ key, entry, previous }) => {
    if (!entry && previous && key.startsWith(ranges.nodes)) lastHeartbeatAt.delete(value<StoredNode>(previous).id);
  });
  const dispatcher = new AgentDispatcher({
    store,
    cache,
    events,
    clock,
    log,
    keyring: deps.keyring,
    failedAfterSeconds: settings.nodeFailedAfterSeconds,
    volumeSyncSeconds: settings.volumeSyncSeconds,
    nodePolicy: toNodePolicy(settings),
    delivery: {
      secrets: deps.secrets,
      tickets: new Tickets({ keyring: deps.keyring, clock, random }),
      registries: {
        credentials: createRegistryCredentials(deps.secrets),
        defaultRegistry: settings.registryDefault,
      },
    },
  });
  const streams = new OpenStreams({ cache, clock, metrics });
  const placementPolicy = toPlacementPolicy(settings);
  const deploymentLimits: DeploymentLimits = {
    maxReplicas: settings.maxReplicasPerDeployment,
    retriesFloor: settings.healthCheckRetriesFloor,
    timeoutFloor: settings.healthCheckTimeoutFloor,
    reservedNames: settings.reservedNames,
    reservedHostPorts: parseReservedHostPorts(settings),
    secrets: defaultSecretLimits,
    containerDefaults: parseContainerDefaults(settings),
  };
  const readers = listReaders({ cache, clock, lastHeartbeatAt }, deps.kinds);
  const watched = readers.filter(({ kind }) => kind.operations.includes('watch'));
  const resources = watched.map(({ resource }) => resource);
  const conflictLeases = new EventLeases(store, clock, CONFLICT_KEYS_DAYS);
  const staticFacts: DeploymentFacts = {
    ...emptyFacts,
    regions: placementPolicy.regions,
    volumeManagement: settings.volumeManagement ? 'on' : 'off',
    secretsPolicy: { namespaces: settings.secretsNamespaces },
  };
  return {
    ...deps,
    store,
    committer: new Committer({ ...deps, store, events, eventLeases, conflictLeases, staticFacts }),
    rateLimiter: new RateLimiter(clock, settings),
    seats: new Seats(settings, metrics),
    lastHeartbeatAt,
    readers,
    dispatcher,
    streams,
    assignments: new AssignmentStreams({ dispatcher, streams, clock }),
    logs: new LogRendezvous(clock),
    watchHub: new WatchHub({ cache, clock, metrics, log, resources, capacity: settings.tailBuffer }),
    deploymentLimits,
    staticFacts,
    placementPolicy,
    usage: new TenantUsage(cache),
    baseUrl: () => settings.baseUrl || url(),
    agentUrl: () => settings.advertise || agentUrl(),
  };
}
