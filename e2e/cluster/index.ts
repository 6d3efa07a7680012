/**
 * The store on real etcd members, with TLS, while things break.
 *
 * `EtcdCluster` runs one or three members, each in a network namespace of its own where that can be made, and breaks them:
 * kill, freeze, isolate, compact, fill, restore. A `Workload` is several clients that read, write, tail, lease and lead and
 * write down what they are told; `e2e/history` judges it against what etcd says it stored. `faults` is the matrix, `runStorm`
 * a storm of random trouble. The tests beside are the suite `cluster`; `make chaos` runs the same for longer.
 *
 * @module
 */
export { EtcdCluster, TEST_ETCD_ARGUMENTS } from './etcd-cluster.js';
export { runFault } from './fault-run.js';
export { type ClusterFault, faults } from './faults.js';
export { readSharedClock } from './recording-client.js';
export { measureServerCut } from './server-cut.js';
export { runStorm } from './storm.js';
export { findObstacle } from './tools.js';
export { StoreWorkload, type WorkloadOutcome } from './workload.js';
