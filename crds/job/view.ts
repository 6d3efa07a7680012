import type { Alteration, Warning } from '../rule/index.js';
import type { Job, JobStatus, StoredJob } from './job.js';

/** A job as the server shows it. */
export interface JobView extends Job {
  readonly metadata: StoredJob['metadata'] & { readonly revision: string };
  readonly status: Omit<JobStatus, 'uid'>;
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}
