/**
 * The all-in-one: everything on this machine, for development.
 *
 * One idea: the supervisor compares what should run with what does, again and again. What should run is a plan on disk; what
 * does run is a record on disk for each process, by id and moment of start. So it makes no difference who started
 * a process, or who was killed in between, and nothing is ever ended that was not started here.
 *
 * `main.ts` is `moor up` and `moor down`. `startInMemory` runs the whole of Mooring in the calling process instead, on a
 * store in memory.
 *
 * It leaves each program to itself: etcd, the engine and the registry to `dev/processes`; the API server, the loops and
 * the agent to their own folders.
 *
 * @module
 */
export { Home } from './home.js';
export { type InMemory, type InMemoryOptions, startInMemory } from './in-memory.js';
