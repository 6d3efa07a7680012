/**
 * The Job kind: work that ends.
 *
 * It shares the fields of `crds/workload` with deployments, and is judged in the same way: everything that is wrong at
 * once, or accepted with every difference announced.
 *
 *     const admission = admitJob(document, facts, limits);
 *     if (!admission.ok) return admission.rejections;
 *
 * Running it to its end is the job runner's; when one with a schedule runs is the job scheduler's. `parseSchedule` has the ticks.
 *
 * @module
 */
export { admitJob } from './admit.js';
export type { AttemptStatus, Job, JobStatus, RunStatus, ScheduleStatus, StoredJob } from './job.js';
export { createInitialJobStatus, isFinished, markDeleted, toJobSpec, toRunSpec } from './job.js';
export { jobKind } from './kind.js';
export { formatRunName, parseSchedule, type Ticks } from './ticks.js';
export type { JobView } from './view.js';
