import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { RouteTree } from '../../api/http/route-tree.js';
import { defineRoute, type Route } from '../../api/http/route.js';
import { createKubernetesRoutes } from '../../api/k8s/routes.js';
import type { BenchResult } from './report.js';
import { interleave, ratio } from './rounds.js';

const TABLES = 500;
const LOOKUPS = 200_000;
/** How often each round repeats: the least disturbed repetition counts. */
const REPETITIONS = 5;
/** Memory that a server may hold for a face that no client uses. */
const ALLOWED_BYTES = 5 * 2 ** 20;

const NOTHING = { status: 200, type: '', body: Buffer.alloc(0) };
const own = ['deployments', 'jobs', 'networks', 'nodes', 'events', 'tokens'].flatMap(kind =>
  [`/api/v1/${kind}`, `/api/v1/${kind}/{name}`].map(path => defineRoute('viewer', 'GET', path, () => NOTHING)),
);

/** W24: what the Kubernetes face costs a server that no client asks below `/k8s`: its rows, and their place in the table. */
export async function measureUnusedFace(rounds: number): Promise<BenchResult[]> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const [plain, faced] = [new RouteTree(own), new RouteTree([...own, ...createRows()])];
  findMany(plain);
  findMany(faced);
  const least = (measure: () => number) => () =>
    Promise.resolve(Math.min(...Array.from({ length: REPETITIONS }, measure)));
  const cells = await interleave(rounds, {
    bytes: least(() => measureBytes(collect)),
    plain: least(() => findMany(plain)),
    faced: least(() => findMany(faced)),
  });
  const allowed = cells.bytes.map(() => ALLOWED_BYTES);
  return [
    {
      workload: 'W24',
      what: 'memory of the Kubernetes face in a server that is not asked there, over 5 MiB',
      ratio: ratio(cells.bytes, allowed),
      floor: 0.1,
      target: 0.01,
      larger: false,
      figures: cells.bytes.map(bytes => `${(bytes / 1024).toFixed(1)} KiB`).join(', '),
    },
    {
      workload: 'W24b',
      what: 'time to find one of our own routes in a table with the face, over one without',
      ratio: ratio(cells.faced, cells.plain),
      floor: 1.25,
      target: 1.05,
      larger: false,
      figures: cells.faced.map(ms => `${((ms * 1e6) / LOOKUPS).toFixed(0)} ns`).join(', '),
    },
  ];
}

/** As at start-up: nothing is read from what they are given. */
function createRows(): readonly Route[] {
  return createKubernetesRoutes({} as Parameters<typeof createKubernetesRoutes>[0], () => []);
}

function measureBytes(collect: () => void): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  const tables = Array.from({ length: TABLES }, () => new RouteTree(createRows()));
  collect();
  const bytes = (process.memoryUsage().heapUsed - before) / TABLES;
  return tables.length === TABLES ? bytes : Number.NaN;
}

function findMany(tree: RouteTree): number {
  const started = process.cpuUsage();
  for (let at = 0; at < LOOKUPS; at++) {
    if (tree.find('GET', '/api/v1/deployments/web').kind !== 'route') throw new Error('the route was not found');
  }
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1000;
}
