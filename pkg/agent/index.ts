/**
 * The node agent: the part of Mooring that runs on a tenant's machine and owns its containers.
 *
 * The one idea: *unknown is not none*. An engine that does not answer, a control plane that has not spoken yet, a call
 * that broke off: in each case nothing is removed and nothing is reported until it is known.
 *
 *     await new Agent({ clock, random, engine, link, log, disk }, { name, version, joinToken }).run(signal);
 *
 * `nextStep` decides what to do about one replica; a worker per replica does it; heartbeats, assignments, engine
 * events and reports each have a lane of their own. `engine/` holds the drivers.
 *
 * Which replica belongs on which node is left to the control plane, and so is what becomes of a node that is silent:
 * the agent keeps its containers running when nobody answers.
 *
 * @module
 */
export { Agent } from './agent.js';
export type { AgentEnv, AgentOptions } from './agent-env.js';
export { type Disk, directoryDisk, memoryDisk } from './disk.js';
export * from './engine/index.js';
