/**
 * The node agent: the part of Mooring that runs on a tenant's machine and owns its containers.
 *
 * The one idea: *unknown is not none*. While the engine does not respond, before the first snapshot of assignments, or
 * after a call with unknown outcome, nothing is removed and nothing is reported.
 *
 *     await new Agent({ clock, random, engine, link, log, disk }, { name, version, joinToken }).run(signal);
 *
 * `decideNextStep` decides what to do about one replica and `ReplicaWorker` does it; heartbeats, assignments, engine
 * events and reports run independently of each other. `engine/` holds the drivers.
 *
 * Placement is left to the control plane, and so is the reaction to a node without heartbeats: the agent keeps its
 * containers running while the control plane is unreachable.
 *
 * @module
 */
export { Agent } from './agent.js';
export { createMemoryDisk } from './disk.js';
export type { ProcessTable } from './process-table.js';
export * from './engine/index.js';
export type { FencerDeadline, Fencer } from './fencer/index.js';
