/**
 * The endpoints: one folder for each kind, with its handlers, its views and its tests.
 *
 * A handler is given what it needs (`env`) and a call that has passed the pipeline, and gives a reply or a rejection.
 * `allRoutes` is the whole table; `http/route.ts` says what a row must declare.
 *
 * @module
 */
import type { Kind } from '../../crds/kind/index.js';
import type { AdmissionEnv } from '../admission/env.js';
import { docRoutes } from '../docs/routes.js';
import type { Route } from '../http/route.js';
import type { WatchEnv } from '../watch/open-watch.js';
import { type AgentRoutesEnv, agentRoutes } from './agent/routes.js';
import { type LogEnv, logRoutes } from './deployment/logs.js';
import { deploymentRoutes } from './deployment/routes.js';
import { deploymentReader } from './deployment/view.js';
import { eventReader } from './event/reader.js';
import { type HealthEnv, healthRoutes } from './health/routes.js';
import { jobRoutes } from './job/routes.js';
import { createReaders, type KindReader, readRoutes } from './kind-routes.js';
import { networkRoutes } from './network/routes.js';
import { nodeRoutes } from './node/routes.js';
import { type NodeEnv, nodeReader, type NodeViewEnv } from './node/view.js';
import { rotationRoutes } from './rotation/routes.js';
import { secretRoutes } from './secret/routes.js';
import { tenantReader, tenantRoutes } from './tenant/routes.js';
import { tokenReader, tokenRoutes } from './token/routes.js';

/** Everything that the handlers work with. Each names the part that it needs. */
export interface RoutesEnv extends AdmissionEnv, AgentRoutesEnv, HealthEnv, LogEnv, NodeEnv, WatchEnv {
  readonly lastHeartbeatAt: Map<string, number>;
  /** What `listReaders` gives. */
  readonly readers: readonly KindReader[];
  /** The kinds that are served; by default those of `crds/kinds`. */
  readonly kinds?: readonly Kind[];
  /** What documentation links begin with. */
  readonly baseUrl: () => string;
}

/** How each kind is listed, watched and shown. A kind that is not named here is read in the common way. */
export function listReaders(env: NodeViewEnv, known?: readonly Kind[]): readonly KindReader[] {
  const own = {
    deployments: deploymentReader(env.cache),
    events: eventReader,
    nodes: nodeReader(env),
    tenants: tenantReader(env),
    tokens: tokenReader(env),
  };
  return createReaders(own, known);
}

/** The whole route table. */
export function allRoutes(env: RoutesEnv): readonly Route[] {
  const routes: readonly Route[] = [
    ...env.readers.flatMap(reader => readRoutes(env, reader)),
    ...deploymentRoutes(env),
    ...logRoutes(env),
    ...secretRoutes(env),
    ...rotationRoutes(env),
    ...jobRoutes(env),
    ...networkRoutes(env),
    ...nodeRoutes(env),
    ...tenantRoutes(env),
    ...tokenRoutes(env),
    ...agentRoutes(env),
    ...healthRoutes(env),
    ...docRoutes(env, () => routes),
  ];
  return routes;
}
