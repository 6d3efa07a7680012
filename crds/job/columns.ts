import { defineColumns } from '../kind/index.js';
import type { JobStatus, StoredJob } from './job.js';

interface JobView extends StoredJob {
  readonly status: Omit<JobStatus, 'uid'>;
}

/** What lists show of a job. */
export const jobColumns = defineColumns<JobView>([
  { title: 'NAME', value: ({ name }) => name },
  { title: 'PHASE', value: ({ status }) => status.phase, format: 'state' },
  {
    title: 'ATTEMPTS',
    value: ({ schedule, status, backoffLimit }) => (schedule ? '' : `${status.attempts}/${backoffLimit + 1}`),
  },
  { title: 'EXIT', value: ({ status }) => String(status.exitCode ?? status.lastRun?.exitCode ?? '') },
  { title: 'SCHEDULE', value: ({ schedule }) => schedule ?? '' },
  { title: 'NEXT RUN', value: ({ status }) => status.nextRunAt ?? '' },
  { title: 'AGE', value: ({ metadata }) => metadata.createdAt, format: 'age' },
  { title: 'IMAGE', value: ({ image }) => image },
  { title: 'UID', isWide: true, value: ({ metadata }) => metadata.uid },
  {
    title: 'MESSAGE',
    isWide: true,
    value: ({ status }) => status.message,
    isWarning: ({ status }) => status.phase === 'Failed' || status.phase === 'Pending',
  },
]);
