import { createInitialJobStatus, jobKind, type JobStatus } from '../../../crds/job/index.js';
import { isDnsLabel } from '../../../crds/grammar/index.js';
import { keys, ranges, toStatusKey } from '../../../crds/keys/index.js';
import { type Cache, type Entry, findRecordFault, toSoundBytes } from '../../../pkg/store/index.js';
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
      return spliceDocument(sound, STATUS, findUnusable(entry, status) ?? chooseStatus(sound, status));
    }),
  },
};

/** What is shown in the place of a status, when the job or its status cannot be worked with: its loop does nothing about it then. */
function findUnusable(entry: Entry, status: Entry | undefined): Buffer | undefined {
  const fault = findRecordFault(entry) ?? (status && findRecordFault(status));
  if (fault === undefined) return undefined;
  const message = `what is stored of it cannot be worked with (${fault}): delete the job and create it again`;
  return Buffer.from(JSON.stringify({ ...createInitialJobStatus(message), reason: 'record_unusable' }));
}

/** A status of an earlier job of the same name is not this one's. */
function chooseStatus({ bytes }: Pick<Entry, 'bytes'>, status: Entry | undefined): Buffer {
  const shown = status && toSoundBytes(status);
  return shown && readUid(shown) === readUid(bytes) ? shown : PENDING;
}

/** A job as answers to writes show it. One that was read may be damaged; what was written is not, and is not parsed for it. */
export function renderJob(cache: Pick<Cache, 'get'>, entry: Entry, wasRead: boolean): Buffer {
  const sound = wasRead ? toSpliceable(entry) : entry;
  return spliceDocument(sound, STATUS, chooseStatus(sound, findJobStatus(cache, entry)));
}

/** The job of this tenant that a path names. */
export function findJob(cache: Cache, tenant: string, name: string): Entry | RequestRejection {
  const entry = isDnsLabel(name) ? cache.get(keys.job(tenant, name)) : undefined;
  return entry ?? rejectRequest('resource_not_found', 'name', name);
}

/** The same, as it is stored now. */
export async function loadJob(cache: Cache, tenant: string, name: string): Promise<Entry | RequestRejection> {
  await cache.barrier();
  return findJob(cache, tenant, name);
}

/** The status that belongs to a job, if there is one yet. */
function findJobStatus(cache: Pick<Cache, 'get'>, { key }: Entry): Entry | undefined {
  return cache.get(toStatusKey(jobKind, key));
}

/** The status of a job as answers show it. */
export function readJobStatus(cache: Cache, entry: Entry): Omit<JobStatus, 'uid'> {
  const status = findJobStatus(cache, entry);
  const shown = findUnusable(entry, status) ?? chooseStatus(toSpliceable(entry), status);
  return JSON.parse(shown.toString()) as Omit<JobStatus, 'uid'>;
}
