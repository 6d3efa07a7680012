/**
 * The job scheduler: makes a job at every tick of a job with a schedule, and deletes those that are not kept any more.
 *
 * It alone writes the status of a job with a schedule, and removes its record. Its runs are jobs like any other to all other
 * loops; they name it as their owner.
 *
 * @module
 */
import type { StoredJob } from '../../crds/job/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { Loop, Wake } from '../../pkg/reconcile/index.js';
import { readValue } from '../../pkg/store/index.js';
import { formatQueueKey, readChange, RUNS } from '../reading/index.js';
import { decideRuns } from './decide.js';
import { runSchedule } from './reconcile.js';

export { decideRuns };

/** How late a run may still begin, when the settings do not say. */
const DEADLINE_SECONDS = 86_400;

/** A job with a schedule is woken by itself and by its runs; one whose schedule was damaged has runs still. */
const wakeScheduled: Wake = {
  prefix: ranges.jobs,
  keys: (change, cache) => {
    const { after, before } = readChange<StoredJob>(change);
    const [tenant = '', name = ''] = splitKey(change.key);
    const own = cache.by(RUNS, `${tenant}/${name}`).length > 0 ? [formatQueueKey({ tenant, name })] : [];
    return [...new Set([...[after, before].flatMap(job => listKeys(job)), ...own])];
  },
};

const wakeOnStatus: Wake = {
  prefix: ranges.jobStatuses,
  keys: ({ key }, cache) => {
    const [tenant = '', name = ''] = splitKey(key);
    return listKeys(readValue<StoredJob>(cache, keys.job(tenant, name)));
  },
};

function listKeys(job: StoredJob | undefined): readonly string[] {
  if (!job) return [];
  const { metadata, name, schedule } = job;
  const { tenant, owner } = metadata;
  return [...(schedule === undefined ? [] : [name]), ...(owner ? [owner.name] : [])].map(each =>
    formatQueueKey({ tenant, name: each }),
  );
}

/** `decide` is replaced only by simulations. */
export function createJobScheduler(deadlineSeconds = DEADLINE_SECONDS, decide = decideRuns): Loop {
  return {
    name: 'job-scheduler',
    wakes: [wakeScheduled, wakeOnStatus],
    reconcile: runSchedule(deadlineSeconds, decide),
    concurrency: 16,
  };
}
