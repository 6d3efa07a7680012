import type { FormerDeployments } from '../../crds/archive/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import { REVISIONS_KEPT } from '../../pkg/history/index.js';
import { again, done, type LoopEnv, type Reconcile, type Wake } from '../../pkg/reconcile/index.js';
import { type Entry, findRecordFault, listValues, type Revision, value } from '../../pkg/store/index.js';

/** How much history of a tenant is kept. Events also expire by their age. */
export interface RetentionLimits {
  readonly eventsPerTenant: number;
  /** Archive entries of deployments that are deleted. */
  readonly archivesOfDeleted: number;
}

export const defaultRetention: RetentionLimits = { eventsPerTenant: 10_000, archivesOfDeleted: 10_000 };

/** So many archive entries of deleted deployments are kept whatever their size, and further ones while all have so many bytes. */
const ARCHIVES_OF_ANY_SIZE = 1_000;
const ARCHIVE_BYTES = 64 * 2 ** 20;
/** Entries that are read at once for their size: an archive entry has at most 256 KiB. */
const MEASURE_AT_ONCE = 16;

/** A tenant's history is looked at this often at most. */
const LOOK_EVERY_MS = 60_000;
const READ_AT_ONCE = 500;
/** etcd takes 128 operations in a transaction. */
const DELETE_AT_ONCE = 50;

/** Everything that writes history of a tenant changes one of these too. */
export const retentionWakes: readonly Wake[] = [ranges.deployments, ranges.statuses, ranges.nodeStatuses].map(
  prefix => ({
    prefix,
    keys: ({ key }) => [keys.tenant(splitKey(key)[0] ?? '')],
  }),
);

type KeyAge = Pick<Entry, 'key' | 'revision'>;

/** The oldest events beyond the limit. Their keys sort by time. */
export function listSurplusEvents<T extends KeyAge>(events: readonly T[], limit: number): readonly T[] {
  return events.slice(0, Math.max(0, events.length - limit));
}

/**
 * The archive entries that are not kept: beyond the newest fifty of a deployment, and beyond the newest `limit`
 * of all those of deployments that were deleted; beyond the newest thousand also those that would make them too large together.
 */
export function listSurplusArchives<T extends KeyAge>(
  archives: readonly T[],
  existing: ReadonlySet<string>,
  limit: number,
  sizes: ReadonlyMap<string, number> = new Map(),
): readonly T[] {
  const counts = new Map<string, number>();
  let ofDeleted = 0;
  let bytes = 0;
  const isBeyond = (key: string) => {
    bytes += sizes.get(key) ?? 0;
    return ++ofDeleted > limit || (ofDeleted > ARCHIVES_OF_ANY_SIZE && bytes > ARCHIVE_BYTES);
  };
  return archives.toSorted(compareNewestFirst).filter(({ key }) => {
    const [, uid = ''] = splitKey(key);
    const count = (counts.get(uid) ?? 0) + 1;
    counts.set(uid, count);
    return count > REVISIONS_KEPT || (!existing.has(uid) && isBeyond(key));
  });
}

/** A restore writes many at once: of these, the keys show which is newer. */
function compareNewestFirst(a: KeyAge, b: KeyAge): number {
  return b.revision - a.revision || (a.key < b.key ? 1 : -1);
}

/** The records of deleted deployments of which no archive entry is left. */
export function listSurplusFormer(former: readonly Entry[], archives: readonly KeyAge[]): readonly Entry[] {
  const kept = new Set(archives.map(({ key }) => splitKey(key)[1]));
  return former.filter(
    entry =>
      findRecordFault(entry) === undefined &&
      !(value<Partial<FormerDeployments>>(entry).deployments ?? []).some(({ uid }) => kept.has(uid)),
  );
}

/** Deletes the history of one tenant beyond the limits, now and then. */
export function retainHistory({ eventsPerTenant, archivesOfDeleted }: RetentionLimits): Reconcile {
  const looked = new Map<string, number>();
  const measured = new Map<string, ReadonlyMap<string, number>>();
  return async (tenantKey, env, signal) => {
    const [tenant = ''] = splitKey(tenantKey);
    const now = env.clock.monotonic();
    for (const [key, at] of looked) if (now - at >= LOOK_EVERY_MS) looked.delete(key);
    const lookedAt = looked.get(tenantKey);
    if (lookedAt !== undefined) return again(lookedAt + LOOK_EVERY_MS - now, 'its history was checked recently');

    // Before the archives: a record has them from its beginning, so that those of every record seen here are read.
    const former = env.cache.list(ranges.of(ranges.formerDeployments, tenant));
    const archives = await readKeys(ranges.of(ranges.archives, tenant), env);
    await env.cache.reached(archives.revision);
    const deployments = listValues<StoredDeployment>(env.cache, ranges.of(ranges.deployments, tenant));
    const existing = new Set(deployments.map(({ metadata }) => metadata.uid));
    const events = await readKeys(ranges.of(ranges.events, tenant), env);
    const ofDeleted = archives.entries.filter(({ key }) => !existing.has(splitKey(key)[1] ?? ''));
    const sizes = await measure(tenant, ofDeleted, measured.get(tenant), env);
    if (sizes) measured.set(tenant, sizes);
    else measured.delete(tenant);
    const surplusArchives = new Set(listSurplusArchives(archives.entries, existing, archivesOfDeleted, sizes));
    const kept = archives.entries.filter(entry => !surplusArchives.has(entry));
    const surplus = [
      ...listSurplusEvents(events.entries, eventsPerTenant),
      ...surplusArchives,
      ...listSurplusFormer(former, kept),
    ];
    for (let at = 0; at < surplus.length && !signal.aborted; at += DELETE_AT_ONCE) {
      const some = surplus.slice(at, at + DELETE_AT_ONCE);
      const guards = some.map(({ key, revision }) => ({ key, at: revision }));
      await env.commit({ guards, puts: [], deletes: some.map(({ key }) => key) });
    }
    if (surplus.length > 0) env.log.info('deleted old events and archives', { tenant, count: surplus.length });
    looked.set(tenantKey, now);
    return done;
  };
}

/** The sizes of archive entries, where there are so many that they count. An entry never changes, so each is read once. */
async function measure(
  tenant: string,
  archives: readonly KeyAge[],
  known: ReadonlyMap<string, number> = new Map(),
  { reads }: LoopEnv,
): Promise<ReadonlyMap<string, number> | undefined> {
  if (archives.length <= ARCHIVES_OF_ANY_SIZE) return undefined;
  const sizes = new Map(archives.flatMap(({ key }) => (known.has(key) ? [[key, known.get(key)!] as const] : [])));
  const unread = archives.filter(({ key }) => !sizes.has(key)).map(({ key }) => splitKey(key)[1] ?? '');
  for (const uid of new Set(unread)) {
    for (let after: string | undefined; ; ) {
      const page = await reads.page(ranges.archivesOf(tenant, uid), { after, limit: MEASURE_AT_ONCE });
      for (const { key, bytes } of page.entries) sizes.set(key, bytes.length);
      after = page.entries.at(-1)?.key;
      if (!page.more || after === undefined) break;
    }
  }
  return sizes;
}

async function readKeys(
  prefix: string,
  { reads }: LoopEnv,
): Promise<{ readonly entries: readonly KeyAge[]; readonly revision: Revision }> {
  const entries: KeyAge[] = [];
  for (let after: string | undefined; ; ) {
    const page = await reads.page(prefix, { after, limit: READ_AT_ONCE, keysOnly: true });
    for (const { key, revision } of page.entries) entries.push({ key, revision });
    after = page.entries.at(-1)?.key;
    if (!page.more || after === undefined) return { entries, revision: page.revision };
  }
}
