/**
 * The all-in-one: everything on this machine, for development.
 *
 * The supervisor is a reconciler: each pass compares a plan on disk with a record on disk for each process, by id and start
 * time. It does not matter which supervisor started a process or was killed in between, and no process is ended that was
 * not started here.
 *
 * `main.ts` is `moor up` and `moor down`; `supervise.ts` turns a plan into parts and `parts/` starts each of them.
 * `startInMemory` runs the whole of Mooring in the calling process instead, on a store in memory.
 *
 * It leaves each program to itself: etcd, the engine and the registry to `dev/processes`; the API server, the loops and
 * the agent to their own folders.
 *
 * @module
 */
export { Home } from './home.js';
export { type InMemoryMooring, type InMemoryOptions, startInMemory } from './in-memory.js';
