import type { Deployment, StoredDeployment } from '../deployment/index.js';
import type { Job, StoredJob } from '../job/index.js';

/** No name of a deployment has a dot, so no deployment is ever taken for a job. */
const JOB = 'job.';

/** The segment of a key, and the owner in a replica, that stands for a job where other replicas name their deployment. */
export function formatJobOwner(name: string): string {
  return `${JOB}${name}`;
}

/** The name of the job that owns a replica. Undefined when a deployment does. */
export function parseJobOwner(owner: string): string | undefined {
  return owner.startsWith(JOB) ? owner.slice(JOB.length) : undefined;
}

/** A job asks of nodes, secrets and quotas what a deployment with one replica asks, under a name that no deployment has. */
export function toJobWorkload(job: Job): Deployment {
  const { kind: _kind, name, ...spec } = job;
  const { restartPolicy: _r, backoffLimit: _b, timeoutSeconds: _t, ttlSecondsAfterFinished: _l, ...timed } = spec;
  const { schedule: _s, timeZone: _z, concurrencyPolicy: _c, ...shared } = timed;
  return { ...shared, kind: 'Deployment', name: formatJobOwner(name), replicas: 1, secretsVersion: 0 };
}

/** The same, of one that is stored. */
export function toStoredWorkload({ metadata, ...job }: StoredJob): StoredDeployment {
  return { metadata, ...toJobWorkload(job) };
}
