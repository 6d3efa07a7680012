import type { Deployment } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { type Explanation, explainPlacement, filters, Fleet, type Placed, type Totals } from '../placement/index.js';
import { value } from '../store/index.js';
import { candidateOf } from './candidate-of.js';
import { loadOf } from './load.js';
import { type PlacementReading, workloadOf } from './workload-of.js';

/** Why the replicas of a deployment are or would be where they are, by every node of its tenant. */
export function explainDeployment(spec: Deployment, tenant: string, reading: PlacementReading): Explanation {
  const candidates = candidatesOf(tenant, reading);
  const workload = workloadOf(spec, tenant, reading, totalsOf(tenant, reading));
  return explainPlacement(workload, candidates, filters);
}

/** Where `count` replicas more would go, if they were to be placed now. Nothing is kept of it. */
export function previewPlacement(spec: Deployment, tenant: string, count: number, reading: PlacementReading): Placed {
  const fleet = new Fleet(candidatesOf(tenant, reading));
  return fleet.place(count, workloadOf(spec, tenant, reading, totalsOf(tenant, reading)));
}

function candidatesOf(tenant: string, { cache }: PlacementReading) {
  return cache.list(ranges.of(ranges.nodes, tenant)).map(entry => candidateOf(value<StoredNode>(entry), cache));
}

/** As quotas count it: what has been given a node, be it a node that is no more. */
function totalsOf(tenant: string, { cache }: PlacementReading): Totals {
  const replicas = cache.list(ranges.of(ranges.replicas, tenant)).map(entry => value<Replica>(entry));
  return loadOf(replicas.filter(({ nodeId }) => nodeId !== undefined));
}
