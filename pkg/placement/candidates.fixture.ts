import type { Candidate } from './candidate.js';
import type { Workload } from './workload.js';

export const GIB = 1024 ** 3;

/** An idle node of the tenant `t1`. */
export const node = (name: string, change: Partial<Candidate> = {}): Candidate => ({
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
  residents: new Map(),
  ...change,
});

/** `node` with replicas of these deployments on it, all to stay. */
export const inhabited = (
  name: string,
  residents: Readonly<Record<string, number>>,
  change: Partial<Candidate> = {},
): Candidate =>
  node(name, {
    replicas: Object.values(residents).reduce((sum, count) => sum + count, 0),
    residents: new Map(Object.entries(residents).map(([of, count]) => [of, { all: count, staying: count }])),
    ...change,
  });

/** A workload of the deployment `web` that asks for nothing. */
export const workload = (change: Partial<Workload> = {}): Workload => ({
  tenant: 't1',
  platform: false,
  deployment: 'web',
  constraints: [],
  apart: [],
  spreadOver: 'node',
  requests: {},
  hostPorts: [],
  quotas: [],
  ...change,
});
