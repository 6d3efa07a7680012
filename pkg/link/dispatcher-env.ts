import { ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Keyring } from '../auth/index.js';
import type { Clock } from '../clock/index.js';
import type { EventWriter } from '../events/index.js';
import { defineFleetIndexes } from '../fleet/index.js';
import type { Logger } from '../log/index.js';
import type { RegistryCredentials } from '../registry/index.js';
import type { SecretStore } from '../secrets/index.js';
import { type Cache, type Entry, type Store, value } from '../store/index.js';
import type { NodePolicy } from './agent-link.js';
import type { Tickets } from './tickets.js';

export interface DeliveryEnv {
  readonly secrets: SecretStore;
  readonly tickets: Tickets;
  /** Left out where agents pull with their own logins only. */
  readonly registries?: RegistryAccess | undefined;
}

/** The tenants' own logins to registries: never those of the platform, which a node must not learn. */
export interface RegistryAccess {
  readonly credentials: RegistryCredentials;
  /** The registry of images that name none; empty when there is none. */
  readonly defaultRegistry: string;
}

export interface DispatcherEnv {
  readonly store: Store;
  /** `defineDispatcherIndexes` must have been called on it before it is filled. */
  readonly cache: Cache;
  readonly events: EventWriter;
  readonly clock: Clock;
  readonly log: Logger;
  /** Proves epochs of volumes: it is not in the store, and so not set back with it. */
  readonly keyring: Keyring;
  /** A node without a heartbeat for this long counts as failed. */
  readonly failedAfterSeconds: number;
  /** How often copies of volumes are brought up to date. Left out: the default. */
  readonly volumeSyncSeconds?: number;
  /** Sent to agents with their assignments. */
  readonly nodePolicy?: NodePolicy | undefined;
  /** Without it, replicas that refer to secrets are not sent to agents. */
  readonly delivery?: DeliveryEnv;
}

export const REPLICAS_BY_UID = 'dispatcher.replicas-by-uid';

/** Defines the cache indexes that the dispatcher uses. Call it once, before the cache is filled. */
export function defineDispatcherIndexes(cache: Cache): void {
  defineFleetIndexes(cache);
  cache.defineIndex(REPLICAS_BY_UID, ranges.replicas, entry => [readReplica(entry).uid]);
}

/** Decodes an entry of the `replicas/` range. */
export function readReplica(entry: Entry): Replica {
  return value<Replica>(entry);
}
