import type { Kind } from '../crds/kind/index.js';
import type { Keyring } from '../pkg/auth/index.js';
import type { Clock, Random } from '../pkg/clock/index.js';
import type { Settings } from '../pkg/config/index.js';
import type { Logger } from '../pkg/log/index.js';
import type { Metrics } from '../pkg/metrics/index.js';
import type { ImageFacts } from '../pkg/registry/index.js';
import type { StoreReport } from '../pkg/process/store-monitor.js';
import type { SecretStore } from '../pkg/secrets/index.js';
import type { Cache, Store } from '../pkg/store/index.js';
import type { Tracer } from '../pkg/trace/index.js';
import type { Seats } from './access/seats.js';
import type { RoutesEnv } from './routes/index.js';

/** What the API is created with. */
export interface ApiDeps {
  readonly store: Store;
  readonly cache: Cache;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How full the store is; undefined while that is not known. */
  readonly storeReport?: () => StoreReport | undefined;
  /** Without it nothing is traced. */
  readonly tracer?: Tracer | undefined;
  readonly keyring: Keyring;
  /** Asks registries whether they have an image. Without it images are not checked. */
  readonly images?: ImageFacts;
  /** Where credentials are kept. */
  readonly secrets: SecretStore;
  /** The kinds that are served. Left out: those that exist. */
  readonly kinds?: readonly Kind[];
}

/** Everything that the pipeline and the handlers work with. */
export interface ApiEnv extends Omit<ApiDeps, 'store'>, RoutesEnv {
  readonly seats: Seats;
}
