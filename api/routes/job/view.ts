import { createInitialJobStatus, jobKind, type JobStatus } from '../../../crds/job/index.js';
import { isDnsLabel } from '../../../crds/grammar/index.js';
import { keys, ranges, toStatusKey } from '../../../crds/keys/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import { type Cache, type Entry, toSoundBytes } from '../../../pkg/store/index.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { cacheRendered, readUid, spliceDocument, toSpliceable } from '../../http/resource.js';
import type { ReaderOptions } from '../kind-routes.js';

const STATUS = Buffer.from(',"status":');
const PENDING = Buffer.from(JSON.stringify(createInitialJobStatus()));

/** A job without a status is shown as pending. */
export const jobReader: ReaderOptions = {
  resource: {
    range: ranges.jobs,
    joined: ranges.jobStatuses,
    view: cacheRendered((entry, status) => {
      const sound = toSpliceable(entry);
      return spliceDocument(sound, STATUS, chooseStatus(sound, status));
    }),
  },
};

/** A status of an earlier job of the same name is not this one's. */
function chooseStatus({ bytes }: Pick<Entry, 'bytes'>, status: Entry | undefined): Buffer {
  const shown = status && toSoundBytes(status);
  return shown && readUid(shown) === readUid(bytes) ? shown : PENDING;
}

/** The answer to a write: the job, and everything that the server added or remarked. */
export function renderWrittenJob(
  entry: Pick<Entry, 'bytes' | 'revision'>,
  status: Entry | undefined,
  alterations: readonly Alteration[] = [],
  warnings: readonly Warning[] = [],
): Buffer {
  const remarks = `,"alterations":${JSON.stringify(alterations)},"warnings":${JSON.stringify(warnings)}`;
  return spliceDocument(entry, STATUS, chooseStatus(entry, status), Buffer.from(remarks));
}

/** The job of this tenant that a path names, as it is stored now. */
export async function loadJob(cache: Cache, tenant: string, name: string): Promise<Entry | RequestRejection> {
  await cache.barrier();
  const entry = isDnsLabel(name) ? cache.get(keys.job(tenant, name)) : undefined;
  return entry ?? rejectRequest('resource_not_found', 'name', name);
}

/** The status that belongs to a job, if there is one yet. */
export function findJobStatus(cache: Cache, { key }: Entry): Entry | undefined {
  return cache.get(toStatusKey(jobKind, key));
}

/** The status of a job as answers show it. */
export function readJobStatus(cache: Cache, entry: Entry): Omit<JobStatus, 'uid'> {
  return JSON.parse(chooseStatus(toSpliceable(entry), findJobStatus(cache, entry)).toString()) as Omit<
    JobStatus,
    'uid'
  >;
}
