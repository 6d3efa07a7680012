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
import { type AgentEnv, agentRoutes } from './agent/routes.js';
import { logRoutes } from './deployment/logs.js';
import { deploymentRoutes } from './deployment/routes.js';
import { eventRoutes } from './event/routes.js';
import { type HealthEnv, healthRoutes } from './health/routes.js';
import { jobRoutes } from './job/routes.js';
import { listReadableKinds, readRoutes } from './kind-routes.js';
import { networkRoutes } from './network/routes.js';
import { nodeRoutes } from './node/routes.js';
import type { NodeEnv } from './node/view.js';
import { rotationRoutes } from './rotation/routes.js';
import { secretRoutes } from './secret/routes.js';
import { tenantRoutes } from './tenant/routes.js';
import { tokenRoutes } from './token/routes.js';

/** Everything that the handlers work with. Each names the part that it needs. */
export interface RoutesEnv extends AdmissionEnv, AgentEnv, HealthEnv, NodeEnv, WatchEnv {
  readonly lastHeartbeatAt: Map<string, number>;
  /** The kinds that are served; by default those of `crds/kinds`. */
  readonly kinds?: readonly Kind[];
  /** What documentation links begin with. */
  readonly baseUrl: () => string;
}

/** The whole route table. */
export function allRoutes(env: RoutesEnv): readonly Route[] {
  const own: readonly Route[] = [
    ...deploymentRoutes(env),
    ...logRoutes(env),
    ...secretRoutes(env),
    ...rotationRoutes(env),
    ...jobRoutes(env),
    ...networkRoutes(env),
    ...eventRoutes(env),
    ...nodeRoutes(env),
    ...tenantRoutes(env),
    ...tokenRoutes(env),
    ...agentRoutes(env),
    ...healthRoutes(env),
    ...docRoutes(env, () => routes),
  ];
  const declared = new Set(own.map(({ method, path }) => `${method} ${path}`));
  // What a kind does not read in its own way is read in the common way: a descriptor alone brings list, watch and get.
  const common = listReadableKinds(env.kinds)
    .flatMap(kind => readRoutes(env, kind))
    .filter(({ method, path }) => !declared.has(`${method} ${path}`));
  const routes = [...own, ...common];
  return routes;
}
