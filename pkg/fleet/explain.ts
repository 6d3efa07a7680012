import type { Deployment } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { type Explanation, explainPlacement, filters, Fleet, type Placed } from '../placement/index.js';
import { value } from '../store/index.js';
import { candidateOf } from './candidate-of.js';
import { type PlacementReading, workloadOf } from './workload-of.js';

/** Why the replicas of a deployment are or would be where they are, by every node of its tenant. */
export function explainDeployment(spec: Deployment, tenant: string, reading: PlacementReading): Explanation {
  const candidates = candidatesOf(tenant, reading);
  const workload = workloadOf(spec, tenant, reading, new Fleet(candidates).totals);
  return explainPlacement(workload, candidates, filters);
}

/** Where `count` replicas more would go, if they were to be placed now. Nothing is kept of it. */
export function previewPlacement(spec: Deployment, tenant: string, count: number, reading: PlacementReading): Placed {
  const fleet = new Fleet(candidatesOf(tenant, reading));
  return fleet.place(count, workloadOf(spec, tenant, reading, fleet.totals));
}

function candidatesOf(tenant: string, { cache }: PlacementReading) {
  return cache.list(ranges.of(ranges.nodes, tenant)).map(entry => candidateOf(value<StoredNode>(entry), cache));
}
