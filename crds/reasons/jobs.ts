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
  run_created: { meaning: 'A tick of the schedule of the job came, and a run was created for it.' },
  run_replaced: {
    meaning: 'A run had not ended when the next one was due, and was deleted for it (concurrencyPolicy Replace).',
    remedy: 'Have the program do less, or run it less often, if its runs are to end.',
  },
  run_still_active: {
    meaning: 'A tick was skipped: an earlier run had not ended (concurrencyPolicy Forbid).',
    remedy: 'Have the program do less, or run it less often; timeoutSeconds ends a run that hangs.',
  },
  run_limit_reached: {
    meaning: 'A tick was skipped: too many runs of the job have not ended.',
    remedy: '"moor describe job {name}" lists them; a run that waits says why: "moor describe job <run>".',
  },
  run_name_taken: {
    meaning: 'A tick was skipped: another job has the name that the run would have.',
    remedy: 'Delete that job, or give it another name.',
  },
  runs_missed: {
    meaning:
      'Ticks of the schedule passed without a run, because no controllers ran, or a run that was to be replaced did not stop. The last of several ticks is run, unless it is older than the setting scheduleDeadlineSeconds.',
    remedy: 'Nothing, unless the work of those ticks is needed: run it by hand with "moor run".',
  },
  schedule_unusable: {
    meaning: 'The stored schedule or time zone of the job is none that this release knows: nothing is run.',
    remedy: 'Delete the job and create it again.',
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;
