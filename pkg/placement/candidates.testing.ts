import type { Candidate, Workload } from './model.js';

export const GIB = 1024 ** 3;

/** An idle node of the tenant `t1`. */
export const makeNode = (name: string, change: Partial<Candidate> = {}): Candidate => ({
  id: `node_${name}`,
  name,
  tenant: 't1',
  status: 'ready',
  controlPlane: false,
  labels: {},
  capacity: { cpu: 2000, memory: 4 * GIB },
  used: { cpu: 0, memory: 0 },
  heldPorts: new Set(),
  replicas: 0,
  replicasByDeployment: new Map(),
  ...change,
});

/** `node` with replicas of these deployments on it, all to stay. */
export const makeNodeWith = (
  name: string,
  residents: Readonly<Record<string, number>>,
  change: Partial<Candidate> = {},
): Candidate =>
  makeNode(name, {
    replicas: Object.values(residents).reduce((sum, count) => sum + count, 0),
    replicasByDeployment: new Map(Object.entries(residents).map(([of, count]) => [of, { all: count, staying: count }])),
    ...change,
  });

/** A workload of the deployment `web` that asks for nothing. */
export const makeWorkload = (change: Partial<Workload> = {}): Workload => ({
  tenant: 't1',
  platform: false,
  deployment: 'web',
  networks: [],
  volumes: [],
  constraints: [],
  antiAffinity: [],
  spreadOver: 'node',
  requests: {},
  hostPorts: [],
  quotas: [],
  ...change,
});
