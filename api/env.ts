import type { DeploymentFacts, DeploymentLimits } from '../crds/deployment/index.js';
import type { Keyring } from '../pkg/auth/index.js';
import type { Clock, Random } from '../pkg/clock/index.js';
import type { Settings } from '../pkg/config/index.js';
import type { EventLeases, EventWriter } from '../pkg/events/index.js';
import type { PlacementPolicy, TenantUsage } from '../pkg/fleet/index.js';
import type { AgentDispatcher } from '../pkg/link/index.js';
import type { Logger } from '../pkg/log/index.js';
import type { Metrics } from '../pkg/metrics/index.js';
import type { ImageFacts } from '../pkg/registry/index.js';
import type { SecretStore } from '../pkg/secrets/index.js';
import type { Cache, Store } from '../pkg/store/index.js';
import type { RateLimiter } from './access/rate-limiter.js';
import type { KeyedMutex } from './admission/conflict-keys.js';
import type { AssignmentStreams } from './stream/assignments.js';
import type { LogRendezvous } from './stream/logs.js';
import type { OpenStreams } from './stream/open-streams.js';
import type { WatchHub } from './watch/watch-hub.js';

/** What the API is given. */
export interface ApiDeps {
  readonly store: Store;
  readonly cache: Cache;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly keyring: Keyring;
  /** Whether registries have the images that tenants name. Without it, nobody asks them. */
  readonly images?: ImageFacts;
  /** Where credentials are kept. */
  readonly secrets: SecretStore;
  /** The fields of a deployment that this control plane carries out. Left out: those that it does. */
  readonly supportedFields?: ReadonlySet<string>;
}

/** What every handler works with. */
export interface ApiEnv extends ApiDeps {
  readonly rateLimiter: RateLimiter;
  readonly events: EventWriter;
  readonly eventLeases: EventLeases;
  readonly dispatcher: AgentDispatcher;
  readonly assignments: AssignmentStreams;
  readonly logs: LogRendezvous;
  readonly streams: OpenStreams;
  readonly watchHub: WatchHub;
  readonly deploymentLimits: DeploymentLimits;
  /** The same, for what is only tried: every field there is. */
  readonly dryRunLimits: DeploymentLimits;
  /** What admission knows without looking it up. */
  readonly staticFacts: DeploymentFacts;
  readonly mutex: KeyedMutex;
  readonly placementPolicy: PlacementPolicy;
  /** What every tenant has. */
  readonly usage: TenantUsage;
  /** What documentation links begin with. */
  readonly baseUrl: () => string;
  /** Where agents reach this very server. */
  readonly agentUrl: () => string;
  /** When each node was last heard by this server, in wall time. */
  readonly lastHeartbeatAt: Map<string, number>;
}
