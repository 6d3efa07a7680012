/**
 * The node agent: the part of Mooring that runs on a tenant's machine and owns its containers.
 *
 * The one idea: *unknown is not none*. While the engine does not respond, before the first snapshot of assignments, or
 * after a call with unknown outcome, nothing is removed and nothing is reported.
 *
 *     await new Agent({ clock, random, engine, link, log, disk }, { name, version, joinToken }).run(signal);
 *
 * `decideNextStep` decides what to do about one replica and `ReplicaWorker` does it; heartbeats, assignments, engine
 * events and reports run independently of each other. What all rooms read stands beside them: what is assigned
 * (`assignments.ts`), what the engine shows (`container-view.ts`), what is kept (`disk.ts`). Each room imports those below it only:
 *
 * - `containers/`: from the decision about a replica to its container, its network and its report; `images/`: pulls.
 * - `reports/`: heartbeats with all that they report, and the reports on their way to the control plane; `logs/`: what containers said.
 * - `node-volumes/`: the volumes of this node for what mounts them: their size, who writes, when that must stop, removed ones.
 * - `membership/`: which node this is, whether this agent has it, and from whom it takes orders.
 * - `replication/`: copies between nodes; `volumes/`: how bytes are kept; `fencer/`: what kills late writers; `engine/`: the drivers.
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
