import type { DeploymentView } from './views.js';

/** Whether a deployment is what was asked for: `no` says that waiting longer will not help by itself. */
export type Readiness = 'yes' | 'notYet' | 'no';

/** Judges by what the status roller has seen of the latest generation, and of no earlier one. */
export function readiness({ metadata, replicas, status }: DeploymentView): Readiness {
  if (!status || status.uid !== metadata.uid || status.observedGeneration < metadata.generation) return 'notYet';
  if (status.phase === 'Failed') return 'no';
  const settled = status.phase === 'Running' || status.phase === 'Stopped';
  const complete = status.readyReplicas >= replicas && status.updatedReplicas >= replicas;
  return settled && complete ? 'yes' : 'notYet';
}
