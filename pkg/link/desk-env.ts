import type { Clock } from '../clock/index.js';
import type { EventWriter } from '../events/index.js';
import type { Logger } from '../log/index.js';
import type { Cache, Store } from '../store/index.js';
import type { DeliveryEnv } from './deliver-environment.js';

/** What the desk works with. */
export interface DeskEnv {
  readonly store: Store;
  /** `defineDeskIndexes` must have been called on it before it was fed. */
  readonly cache: Cache;
  readonly events: EventWriter;
  readonly clock: Clock;
  readonly log: Logger;
  /** Silence after which a node counts as failed. */
  readonly failedAfterSeconds: number;
  /** What giving out secrets takes. Without it, replicas that refer to secrets are told to nobody. */
  readonly delivery?: DeliveryEnv;
}
