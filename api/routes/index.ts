/**
 * The endpoints: one folder for each kind, with its handlers, its views and its tests.
 *
 * A handler is given what it needs (`env`) and a call that has passed the pipeline, and gives a reply or a rejection.
 * `createRoutes` is the whole table; `http/route.ts` says what a row must declare.
 *
 * @module
 */
import { join } from 'node:path';

import type { Kind } from '../../crds/kind/index.js';
import { clone } from '../../pkg/version/index.js';
import type { AdmissionEnv } from '../admission/env.js';
import { createDocRoutes } from '../docs/routes.js';
import { createSiteRoutes } from '../docs/site.js';
import type { Route } from '../http/route.js';
import type { WatchEnv } from '../watch/open-watch.js';
import { type AgentRoutesEnv, createAgentRoutes } from './agent/routes.js';
import { createArchiveRoutes } from './archive/routes.js';
import { createBackupRoutes } from './backup/routes.js';
import { createDashboardRoutes } from './dashboard/routes.js';
import { type LogEnv, createLogRoutes } from './deployment/logs.js';
import { createDeploymentRoutes } from './deployment/routes.js';
import { createDeploymentReader } from './deployment/view.js';
import { eventReader } from './event/reader.js';
import { type ConfigEnv, createConfigRoutes } from './health/config.js';
import { type HealthEnv, createHealthRoutes } from './health/routes.js';
import { createJobRoutes } from './job/routes.js';
import { jobReader } from './job/view.js';
import { createReaders, type KindReader, readRoutes } from './kind-routes.js';
import { createNetworkRoutes } from './network/routes.js';
import { createNodeRoutes } from './node/routes.js';
import { type NodeEnv, createNodeReader, type NodeViewEnv } from './node/view.js';
import { createRecommendationRoutes } from './recommendation/routes.js';
import { createRotationRoutes } from './rotation/routes.js';
import { createSecretReader, createSecretRoutes } from './secret/routes.js';
import { createTenantReader, createTenantRoutes } from './tenant/routes.js';
import { createTokenReader, createTokenRoutes } from './token/routes.js';
import { createSignInRoutes } from './token/sign-in.js';
import { createVolumeRoutes } from './volume/routes.js';
import { createVolumeReader, type VolumeViewEnv } from './volume/view.js';

/** Everything that the handlers work with. Each names the part that it needs. */
export interface RoutesEnv extends AdmissionEnv, AgentRoutesEnv, ConfigEnv, HealthEnv, LogEnv, NodeEnv, WatchEnv {
  readonly lastHeartbeatAt: Map<string, number>;
  /** What `listReaders` gives. */
  readonly readers: readonly KindReader[];
  /** The kinds that are served; by default those of `crds/kinds`. */
  readonly kinds?: readonly Kind[];
  /** What documentation links begin with. */
  readonly baseUrl: () => string;
}

/** How each kind is listed, watched and shown. A kind that is not named here is read in the common way. */
export function listReaders(env: NodeViewEnv & VolumeViewEnv, known?: readonly Kind[]): readonly KindReader[] {
  const own = {
    deployments: createDeploymentReader(env.cache),
    events: eventReader,
    jobs: jobReader,
    nodes: createNodeReader(env),
    secrets: createSecretReader(env),
    tenants: createTenantReader(env),
    tokens: createTokenReader(env),
    volumes: createVolumeReader(env),
  };
  return createReaders(own, known);
}

/** The whole route table. `more` are rows of other faces of the API. */
export function createRoutes(env: RoutesEnv, more: readonly Route[] = []): readonly Route[] {
  const routes: readonly Route[] = [
    ...env.readers.flatMap(reader => readRoutes(env, reader)),
    ...createDeploymentRoutes(env),
    ...createArchiveRoutes(env),
    ...createBackupRoutes(env),
    ...createLogRoutes(env),
    ...createSecretRoutes(env),
    ...createRotationRoutes(env),
    ...createJobRoutes(env),
    ...createNetworkRoutes(env),
    ...createVolumeRoutes(env),
    ...createRecommendationRoutes(env),
    ...createNodeRoutes(env),
    ...createTenantRoutes(env),
    ...createTokenRoutes(env),
    ...createSignInRoutes(env),
    ...createAgentRoutes(env),
    ...createHealthRoutes(env),
    ...createConfigRoutes(env),
    ...createDashboardRoutes(join(clone, 'dist', 'dashboard', 'assets')),
    ...createDocRoutes(env, () => routes),
    ...createSiteRoutes(join(clone, 'dist', 'site')),
    ...more,
  ];
  return routes;
}
