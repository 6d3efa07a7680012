import { createJobScheduler, decideRuns } from '../../controllers/job-scheduler/index.js';
import { altering, inMix } from './mutants.js';

type DecideRuns = typeof decideRuns;

const scheduling = (decide: DecideRuns) => altering('job-scheduler', () => createJobScheduler(undefined, decide));

/** Ticks count from the last run that is still there. */
const forgetsTicks: DecideRuns = input => {
  const { status, job, runs } = input;
  const last = runs
    .map(({ scheduledAt }) => scheduledAt)
    .toSorted()
    .at(-1);
  return decideRuns({ ...input, status: status && { ...status, settledUntil: last ?? job.metadata.createdAt } });
};

/** A run that waits for its node is no run yet. */
const overlooksWaiting: DecideRuns = input =>
  decideRuns({ ...input, runs: input.runs.filter(({ status }) => status && status.phase !== 'Pending') });

/** The next run does not wait until the one that it replaces has stopped. */
const replacesAtOnce: DecideRuns = input =>
  decideRuns({ ...input, runs: input.runs.filter(({ isGoing }) => !isGoing) });

/** The run and the word that its tick is settled are two steps. */
const runsBeforeStatus: DecideRuns = input => {
  const { status, ...decision } = decideRuns(input);
  return decision.create || !status ? decision : { ...decision, status };
};

const goesFirst: DecideRuns = input => {
  const decision = decideRuns(input);
  const isGone = input.job.metadata.deletedAt !== undefined && decision.remove.length === 0;
  return { ...decision, isGone };
};

/** Mistakes about schedules that must not go unnoticed. */
export const scheduleMutants = inMix('schedules', [
  { mistake: 'a tick is forgotten when its run is gone', ...scheduling(forgetsTicks) },
  { mistake: 'a run that waits is not counted as one', ...scheduling(overlooksWaiting) },
  { mistake: 'a run begins beside the one that it replaces', ...scheduling(replacesAtOnce) },
  { mistake: 'a run is made before it is stored that its tick is settled', ...scheduling(runsBeforeStatus) },
  { mistake: 'a job with a schedule goes before its runs', ...scheduling(goesFirst) },
]);
