import type { DeploymentPhase, StoredDeployment } from '../../crds/deployment/index.js';
import type { SeenReplica, UnmetDependency } from '../reading/index.js';
import { isHeld, isServed, type Standing } from './standing.js';

/** The phase in one word, and for people in one sentence. */
export interface PhaseWords {
  readonly phase: DeploymentPhase;
  readonly message: string;
}

/** The phase that a standing amounts to: what stands in the way first, then how far things are. */
export function phaseOf({ metadata }: StoredDeployment, standing: Standing): PhaseWords {
  const { wanted, records, serving, failing, refused, placed, unresolved } = standing;
  const ready = `${serving} of ${wanted} replicas ready`;

  if (metadata.deletedAt) return { phase: 'Deleting', message: `${records} containers left to remove` };
  if (wanted === 0 && records === 0) return { phase: 'Stopped', message: 'no replicas are asked for' };
  if (wanted === 0) return { phase: 'Progressing', message: `${records} containers left to remove` };
  if (isHeld(standing)) return { phase: 'Waiting', message: waitsFor(standing.unmet) };
  if (refused)
    return { phase: refused.residencyUnmet ? 'Waiting' : 'Unschedulable', message: `${refused.summary}; ${ready}` };
  if (unresolved) return { phase: 'Degraded', message: `${ready}; ${unresolved.message}` };
  if (failing[0]) return { phase: 'Degraded', message: `${ready}; ${troubleOf(failing[0])}` };
  if (isServed(standing)) return { phase: 'Running', message: ready + toRemove(standing) };
  if (placed === 0) return { phase: 'Pending', message: 'accepted; being placed' };
  return { phase: 'Progressing', message: ready };
}

/** What a deployment waits for, for people. */
export function waitsFor(unmet: readonly UnmetDependency[]): string {
  return `waits for ${unmet.map(({ name, because }) => `${name}, which ${because}`).join('; ')}`;
}

function toRemove({ leaving }: Standing): string {
  return leaving === 0 ? '' : `; ${leaving} containers left to remove`;
}

/** What is the matter with one replica, for people. */
function troubleOf({ replica, report, node }: SeenReplica): string {
  const who = `replica ${replica.slot}`;
  if (node === 'failed') return `${who} is on a node that is not heard`;
  if (report?.message) return `${who}: ${report.message}`;
  return `${who} is ${report?.health === 'unhealthy' ? 'unhealthy' : (report?.state ?? 'unknown')}`;
}

/** What is the matter, in one word for programs. */
export function troubleWord({ report, node }: SeenReplica): string {
  if (node === 'failed') return 'node_failed';
  return report?.reason ?? (report?.health === 'unhealthy' ? 'unhealthy' : (report?.state ?? 'unknown'));
}
