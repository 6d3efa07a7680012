import { createJobRunner, decideJob } from '../../controllers/job-runner/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { altering, deafTo, instead, type Mutant } from './mutants.js';

type DecideJob = typeof decideJob;

const runningJobs = (decide: DecideJob) => altering('job-runner', () => createJobRunner(undefined, decide));

/** The end of an attempt is stored after its container is removed, not before. */
const removesFirst: DecideJob = input => {
  const { status, ...decision } = decideJob(input);
  return decision.retire.length > 0 || !status ? decision : { ...decision, status };
};

/** Counts from the beginning again after every failure. */
const countsAnew: DecideJob = input => {
  const decision = decideJob(input);
  const { create, status } = decision;
  if (!create || !status) return decision;
  const first = { ...create, attempt: 1 };
  return { ...decision, create: first, status: { ...status, history: [...status.history.slice(0, -1), first] } };
};

/** The next attempt does not wait until the container of the last one is gone. */
const startsBeside: DecideJob = input => {
  const [last] = input.records;
  const hasEnded = last?.report?.state === 'exited' && last.replica.retiringSince !== undefined;
  return decideJob(hasEnded ? { ...input, records: [], now: input.now + 600_000 } : input);
};

const givesUpAtOnce: DecideJob = input =>
  decideJob({
    ...input,
    records: input.records.map(seen => (seen.node === 'failed' ? { ...seen, node: 'gone' } : seen)),
  });

/** An agent that keeps the container of an attempt running as it does any other. */
const withoutOnce = (replica: Replica): Replica => {
  const { once: _, ...other } = replica;
  return other;
};

/** Mistakes about jobs that must not go unnoticed. */
export const jobMutants: readonly Mutant[] = [
  { mistake: 'a container is removed before its exit code is stored', ...runningJobs(removesFirst) },
  { mistake: 'attempts of a job are counted anew', ...runningJobs(countsAnew) },
  { mistake: 'an attempt is made beside the last one', ...runningJobs(startsBeside) },
  { mistake: 'an attempt on a failed node is treated as gone', ...runningJobs(givesUpAtOnce) },
  { mistake: 'the job runner does not watch reports', ...deafTo('job-runner', ranges.reports) },
  {
    mistake: 'an attempt that has ended is started again',
    link: link =>
      instead(link, 'assignments', (onLine, signal) =>
        link.assignments(line => {
          if (line.type === 'snapshot') onLine({ ...line, replicas: line.replicas.map(withoutOnce) });
          else onLine(line.type === 'set' ? { ...line, replica: withoutOnce(line.replica) } : line);
        }, signal),
      ),
  },
];
