/**
 * `make bench`: the workloads of docs/BENCHMARKS.md, each as a ratio against etcd or the engine itself, measured interleaved
 * in this one run. `make bench BENCH="w1 w5"` chooses; ROUNDS sets how often each cell is measured; AGAINST=<checkout>
 * compares with another checkout instead, run by run in turns.
 */
import { loadavg } from 'node:os';

import { measureAdmission } from './admission.js';
import { compareWith } from './against.js';
import { applyToRunning, measureUsage, rollOut, runJobs } from './containers.js';
import { measureFirstPaint } from './first-paint.js';
import { keepIdleVolumes } from './idle-volumes.js';
import { holdLimits } from './limits.js';
import { measureOverload } from './overload.js';
import { measureReads } from './reads.js';
import { type BenchResult, printResults } from './report.js';
import { measureScheduling } from './scheduler.js';
import { measureSchedulingOnEtcd } from './scheduler-etcd.js';
import { compareWithSwarm } from './swarm.js';
import { measureUnusedFace } from './unused-face.js';
import { replicateVolumes } from './volumes.js';
import { createOverHttp, measureStoreLayer } from './writes.js';

const workloads: Readonly<Record<string, (rounds: number) => Promise<BenchResult[]>>> = {
  w1: createOverHttp,
  w2: measureStoreLayer,
  w3: measureScheduling,
  w3e: measureSchedulingOnEtcd,
  w5: applyToRunning,
  w8: measureReads,
  rollout: rollOut,
  jobs: runJobs,
  usage: measureUsage,
  admission: measureAdmission,
  limits: holdLimits,
  overload: measureOverload,
  volumes: replicateVolumes,
  idle: keepIdleVolumes,
  face: measureUnusedFace,
  paint: measureFirstPaint,
  swarm: compareWithSwarm,
};

const rounds = Number(process.env['ROUNDS'] ?? 3);
const chosen = process.argv.slice(2).map(name => name.toLowerCase());
const names = chosen.length > 0 ? chosen : Object.keys(workloads);
const unknown = names.filter(name => !(name in workloads));
if (unknown.length > 0) {
  console.error(`there is no workload ${unknown.join(', ')}; there are ${Object.keys(workloads).join(', ')}`);
  process.exit(2);
}
const against = process.env['AGAINST'];
if (against) process.exit(compareWith(against, names, rounds) ? 0 : 1);
const findings: BenchResult[] = [];
let areAllMeasured = true;
for (const name of names) {
  console.log(`measuring ${name}, ${rounds} rounds; load average ${loadavg()[0]?.toFixed(1)}`);
  try {
    findings.push(...(await workloads[name]!(rounds)));
  } catch (thrown) {
    // What others have found is told all the same.
    console.error(`${name} was not measured:`, thrown);
    areAllMeasured = false;
  }
}
process.exitCode = printResults(findings) && areAllMeasured ? 0 : 1;
process.exit();
