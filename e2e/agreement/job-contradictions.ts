import type { StoredEvent } from '../../crds/event/index.js';
import type { JobStatus, StoredJob } from '../../crds/job/index.js';
import { findReason } from '../../crds/reasons/index.js';

/** Everything that Mooring says of one job at one moment. */
export interface JobSurfaces {
  readonly job: StoredJob & { readonly status: JobStatus };
  /** Of the store, before and after everything else was read. */
  readonly revision: string;
  readonly explanation: JobExplanation;
  /** In the order in which they were written, the newest last. */
  readonly events: readonly StoredEvent[];
  readonly printed: { readonly describe: string; readonly explain: string };
}

export interface JobExplanation {
  readonly revision: string;
  readonly phase: string;
  readonly message: string;
  readonly attempts: number;
  readonly able: number;
  readonly summary: string;
}

/** Types of events that tell of a phase, and the phases that they are true of. */
const TRUE_OF: Readonly<Record<string, readonly string[]>> = {
  'job.unschedulable': ['Pending'],
  'job.placed': ['Running', 'Pending'],
  'job.started': ['Running', 'Pending'],
  'job.succeeded': ['Succeeded'],
  'job.failed': ['Failed'],
};

/** What contradicts what, in words. Nothing when all of it can be true at once. */
export function findJobContradictions(told: JobSurfaces): readonly string[] {
  const { job, revision, explanation, events, printed } = told;
  const { phase, message, attempts, history } = job.status;
  const newest = events.findLast(({ type }) => type in TRUE_OF);
  const last = history.at(-1);
  const isUnplaced = phase === 'Pending' && last?.state === 'Pending' && last.nodeId === undefined;
  const reasons = [job.status.reason, ...history.map(({ reason }) => reason), ...events.map(({ reason }) => reason)];
  const isEnded = last?.state === 'Succeeded' || last?.state === 'Failed';
  const claims: readonly (readonly [isTrue: boolean, otherwise: string])[] = [
    [explanation.revision === revision, `the explanation is of revision ${explanation.revision}, not of ${revision}`],
    [explanation.phase === phase, `the status is ${phase}, the explanation says ${explanation.phase}`],
    [explanation.message === message, `the status says "${message}", the explanation "${explanation.message}"`],
    [explanation.attempts === attempts, `${attempts} attempts, the explanation says ${explanation.attempts}`],
    [(last?.attempt ?? 0) === attempts, `${attempts} attempts, the last one is ${last?.attempt}`],
    [phase !== 'Running' || last?.state === 'Running', `it is Running, its last attempt is ${last?.state}`],
    [phase !== 'Succeeded' || last?.state === 'Succeeded', `it has succeeded, its last attempt is ${last?.state}`],
    [phase !== 'Failed' || isEnded, `it has failed, its last attempt is ${last?.state}`],
    [
      !newest || job.metadata.deletedAt !== undefined || TRUE_OF[newest.type]!.includes(phase),
      `it is ${phase}, and its newest event is ${newest?.type} (${newest?.reason})`,
    ],
    [
      !isUnplaced || explanation.able > 0 || message.includes(explanation.summary),
      `no node takes it (${explanation.summary}), and the status says "${message}"`,
    ],
  ];
  return [
    ...claims.flatMap(([isTrue, otherwise]) => (isTrue ? [] : [otherwise])),
    ...Object.entries(printed).flatMap(([command, text]) =>
      text.includes(phase) && text.includes(message) ? [] : [`${command} does not print ${phase}: "${message}"`],
    ),
    ...[...new Set(reasons)]
      .filter(word => word !== undefined && !findReason(word))
      .map(word => `"moor explain ${word}" knows nothing`),
  ];
}
