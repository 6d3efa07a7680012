/**
 * The bridge: objects of a Kubernetes cluster are declared there and run by Mooring.
 *
 * One idea to hold: it is a client of both sides and keeps nothing itself. For each name it reads both sides, decides one step
 * (`decideMirror`), takes it, and reads again; what it must remember stands on the object of the cluster. The rules are in ADR 60.
 *
 * `KubernetesBridge` runs in `moor bridge` (`main.ts`), which loads `@kubernetes/client-node`.
 *
 * @module
 */
export { KubernetesBridge, type BridgeOptions } from './bridge.js';
export { type ClientPackage, MirrorSide, SideUnreadableFault } from './mirror-side.js';
export type { MirroredObject } from './mirror.js';
