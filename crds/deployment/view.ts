import type { Metadata } from '../meta/index.js';
import type { Alteration, Warning } from '../rule/index.js';
import type { Deployment, DeploymentStatus } from './deployment.js';
import { getStatedReplicas } from './stated-replicas.js';

/** A deployment as the server shows it. It has no status until the status roller has written one. */
export interface DeploymentView extends Deployment {
  readonly metadata: Metadata & { readonly revision: string };
  readonly status?: DeploymentStatus | null;
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}

/** Whether a deployment runs as its spec says: `no` means that waiting longer will not help by itself. */
export type Readiness = 'yes' | 'notYet' | 'no';

/** Uses the status of the latest generation only. */
export function assessReadiness({ metadata, replicas: specified, status }: DeploymentView): Readiness {
  if (!status || status.uid !== metadata.uid || status.observedGeneration < metadata.generation) return 'notYet';
  if (status.phase === 'Failed') return 'no';
  const replicas = getStatedReplicas({ replicas: specified, status });
  const settled = status.phase === 'Running' || status.phase === 'Stopped';
  const complete = status.readyReplicas >= replicas && status.updatedReplicas >= replicas;
  return settled && complete ? 'yes' : 'notYet';
}
