import type { ReasonEntry } from './events.js';

/** Of jobs and their attempts. */
export const jobReasons = {
  job_created: { meaning: 'The job was stored.' },
  started: { meaning: 'The first attempt of the job has started.' },
  succeeded: { meaning: 'An attempt of the job ended with exit code 0.' },
  backoff_limit_reached: {
    meaning: 'Every attempt of the job failed, and no further one is made.',
    remedy: '"moor logs job/{name}" shows what the last one printed; correct it, delete the job and create it again.',
  },
  timed_out: {
    meaning: 'The attempt ran for longer than timeoutSeconds and was stopped.',
    remedy: 'Have the program do less, or raise timeoutSeconds.',
  },
  container_lost: {
    meaning: 'The container of the attempt was removed by something else, so its exit code is not known.',
    remedy: 'Look on the node for what removes containers; the job is tried again, if it may be.',
  },
  start_unconfirmed: {
    meaning: 'The container engine did not say whether it has started the container, which is not started twice.',
    remedy: 'Look at the log of the engine of the node; the job is tried again, if it may be.',
  },
  node_lost: {
    meaning: 'The node of the attempt failed and did not come back in time.',
    remedy: 'Check the machine: "moor get nodes"; the job is tried again elsewhere, if it may be.',
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;
