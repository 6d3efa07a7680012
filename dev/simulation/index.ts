/**
 * A simulated world: the product's own code, on virtual time, with everything that can go wrong going wrong.
 *
 * One idea to hold: all chance is drawn from one seed. What comes first, how long a message takes, what is lost and who
 * dies when follow from it, so a run that fails can be run again, step by step.
 *
 * A `SimWorld` has time and an event queue. A `SimProcess` is one life of a process: its clock and its calls stop at its kill,
 * and a restart is a new one. `SimulatedStore` is one store as a process reaches it over a bad wire; how bad is the
 * `FaultProfile`. A `VolumeDisk` has the volumes of a machine, as logs of records that are written once, with their snapshots; a
 * `PeerNetwork` lies between the agents that copy them.
 *
 * What runs in the world, what is done to it and what must hold is left to `e2e/simulation`.
 *
 * @module
 */
export { SimProcess } from './sim-process.js';
export type { Reconnecting } from './simulated-connection.js';
export { SimulatedStore } from './simulated-store.js';
export type { FaultProfile } from './fault-profile.js';
export { calm, storm } from './fault-profile.js';
export { SimWorld } from './sim-world.js';
export { PeerNetwork } from './simulated-peers.js';
export { createSimulatedVolumes, RESIZED_MAX } from './simulated-volumes.js';
export { hasAll, HeldVolume, isSameLog, type RecordLog, VolumeDisk } from './volume-disk.js';
