import type { CanarySide, CanaryStatus, RolloutStatus, ScalingStatus } from './deployment.js';
import { formatCount } from '../grammar/index.js';

/** `progressing: revision 4 (the last complete one is 3); it waits for …` */
export function formatRollout({ state, revision, completedRevision, waitsFor, failure }: RolloutStatus): string {
  const last =
    completedRevision === undefined || completedRevision === revision ? '' : ` (complete: ${completedRevision})`;
  const waits = waitsFor === undefined ? '' : `; it waits for ${waitsFor}`;
  const { rolledBackTo, message } = failure ?? {};
  const back = rolledBackTo === undefined ? '' : `; rolled back to revision ${rolledBackTo}: ${message}`;
  const failed = failure && rolledBackTo === undefined ? `; ${message}` : '';
  return `${state}, revision ${revision}${last}${waits}${back}${failed}`;
}

/** `holding since … on replicas 3 (1 of 1 ready, 0 restarts) beside 2 others (2 ready, 0 restarts); it waits for …` */
export function formatCanary({ state, since, healthySince, slots, compared, waitsFor }: CanaryStatus): string {
  const { canary, others } = compared;
  const where = slots.length === 0 ? 'no replica yet' : `replica ${slots.join(', ')} (${formatSide(canary)})`;
  return `${state} since ${healthySince ?? since}: ${where} beside ${others.replicas} of the old template (${formatSide(others)}); it waits for ${waitsFor}`;
}

function formatSide({ ready, unhealthy, restarts, exitCodes }: CanarySide): string {
  const codes = exitCodes.length === 0 ? '' : `, exit code ${exitCodes.join(', ')}`;
  return `${ready} ready, ${unhealthy} unhealthy, ${formatCount(restarts, 'restart')}${codes}`;
}

/** `1…4 replicas, cpu 180 % of 60 %; 3 wanted: …` */
export function formatScaling({ replicas, message, minReplicas, maxReplicas }: ScalingStatus): string {
  return `${replicas} wanted of ${minReplicas} to ${maxReplicas}: ${message}`;
}
