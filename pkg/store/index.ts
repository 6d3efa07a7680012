/**
 * The store: desired state and observed state, in etcd or in memory, with a watch cache and leader election.
 *
 * There is no unconditional write. A `Change` is a list of guards (compares) and a list of writes, applied together or not at
 * all, and at least one guard is on the revision of a key that the change writes. So no change can be applied twice, and a
 * lost answer can be settled.
 *
 * ## Reading
 *
 * `WatchCache` holds everything, fed by one watch per process; `value` parses an entry once. Await `barrier` first when
 * a read must be linearizable. `Store.get` and `Store.list` read from the store itself.
 *
 * ## Writing
 *
 * `create`, `replace` and `remove` change exactly the entry that was read; `update` reads again after a conflict. For several
 * keys at once there is `Store.commit`. `Leadership` gives the fence (a guard on the leader key) for the changes of a loop;
 * the loop adds it, the store does not.
 *
 * `etcd/` is the client of etcd: connection, gRPC, codec, group commit, settlement of lost answers, leases and the watch.
 *
 * ## What this package leaves to others
 *
 * It checks no rules and publishes no events. Keys are built in `crds/keys`. Of the kinds it knows two things, because every
 * record of every process passes here: none with secret material is stored (`checkChange` asks `crds/secret`), and one that
 * cannot be worked with is read as a substitute (`value` asks `crds/stored`).
 *
 * @module
 */
export { isGuardMet } from './change.js';
export type { Cache, CacheChange } from './watch-cache.js';
export { WatchCache } from './watch-cache.js';
export { MAX_DOCUMENT_BYTES, MAX_REQUEST_BYTES, splitIntoChanges } from './change-size.js';
export type { Compactable } from './compaction.js';
export { compactPeriodically, compactToPresent } from './compaction.js';
export type { EtcdInspection, EtcdStoreOptions } from './etcd/etcd-store.js';
export { checkEtcdVersion, EtcdStore } from './etcd/etcd-store.js';
export {
  CompactedFault,
  ConflictFault,
  LeaseGoneFault,
  OutcomeUnknownFault,
  SecretMaterialFault,
  StoreRefusedFault,
  StoreTooLargeFault,
  StoreUnavailableFault,
} from './faults.js';
export type { LeaderRecord } from './leadership.js';
export { Leadership } from './leadership.js';
export { MemoryStore } from './memory-store.js';
export { openEtcdStore, retryUntilReachable } from './open-etcd-store.js';
export type { Revision } from './entry.js';
export { Entry } from './entry.js';
export type * from './store.js';
export {
  create,
  encode,
  findRecordFault,
  listValues,
  readValue,
  remove,
  replace,
  toSoundBytes,
  value,
} from './documents.js';
