/**
 * The store: what tenants have asked for, and what the platform has seen.
 *
 * One idea to hold: there is no unconditional write. A change is a list of guards and a list of writes, made
 * together or not at all, and at least one guard stands on the revision of a key that the change writes. So no
 * change can be made twice, and a lost answer can be settled.
 *
 * ## Reading
 *
 * `WatchCache` holds everything, fed by one watch a process; `value` parses an entry once. Await `barrier` first when
 * a read must be linearizable. `Store.get` and `Store.list` ask the store itself.
 *
 * ## Writing
 *
 * `create` writes where there was nothing, `replace` and `remove` change exactly what was read, and `update` reads
 * afresh when somebody else was first. Several keys at once: `Store.commit`. `Leadership` gives the fence that
 * every change of a loop is guarded by.
 *
 * ## What this package leaves to others
 *
 * It knows no kinds, checks no rules and publishes no events. Keys are built in `crds/keys`.
 *
 * @module
 */
export type { Cache, CacheChange, WatchCacheOptions } from './watch-cache.js';
export { WatchCache } from './watch-cache.js';
export type { EtcdStoreOptions } from './etcd/etcd-store.js';
export { EtcdStore } from './etcd/etcd-store.js';
export type { TlsMaterial } from './etcd/etcd-connection.js';
export {
  CompactedFault,
  ConflictFault,
  LeaseGoneFault,
  MissingFault,
  OutcomeUnknownFault,
  SecretMaterialFault,
  StoreRefusedFault,
  StoreUnavailableFault,
} from './faults.js';
export type { LeaderRecord, LeadershipOptions, LeaderTerm } from './leadership.js';
export { Leadership } from './leadership.js';
export type { MemoryStoreOptions } from './memory-store.js';
export { MemoryStore } from './memory-store.js';
export { openEtcdStore, untilReachable } from './open-etcd-store.js';
export type * from './store.js';
export { create, encode, MAX_REQUEST_BYTES, remove, replace, update, value } from './documents.js';
