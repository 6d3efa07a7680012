import type { StoredEvent } from '../crds/event/index.js';
import { ranges } from '../crds/keys/index.js';
import type { EventDraft } from '../pkg/events/index.js';
import { done, type Loop, type LoopEnv, type Wake } from '../pkg/reconcile/index.js';
import { type Cache, type Entry, findRecordFault, type Put, type Revision, value } from '../pkg/store/index.js';

/** Whom the event of a record is about. Undefined: it has no owner. */
export type FindOwner = (entry: Entry, cache: Cache) => Pick<EventDraft, 'type' | 'tenant' | 'subject'> | undefined;

/** What the keys of the queue begin with that name a record, and not an object of the loop. */
const MARK = 'unusable ';

interface AnnouncedRecord {
  readonly revision: Revision;
  readonly event: string;
}

/**
 * The same loop, which also announces each record below `prefixes` that cannot be worked with: one event for a record, counted
 * up when it is broken again. It is noticed when it is stored, because its owner may replace it the next moment.
 */
export function announceUnusable(loop: Loop, prefixes: readonly string[], findOwner: FindOwner): Loop {
  const noticed = new Map<string, Entry>();
  const announced = new Map<string, AnnouncedRecord>();
  const notice = (prefix: string): Wake => ({
    prefix,
    keys: ({ key, entry }) => {
      if (!entry || findRecordFault(entry) === undefined) return [];
      noticed.set(key, entry);
      return [MARK + key];
    },
  });
  return {
    ...loop,
    wakes: [...loop.wakes, ...prefixes.map(notice)],
    reconcile: async (queueKey, env, signal) => {
      if (!queueKey.startsWith(MARK)) return loop.reconcile(queueKey, env, signal);
      const key = queueKey.slice(MARK.length);
      const entry = noticed.get(key);
      const owner = entry && findOwner(entry, env.cache);
      const known = announced.get(key);
      if (entry && owner && known?.revision !== entry.revision) {
        const put = await putOrCount(entry, owner, known, env);
        announced.set(key, { revision: entry.revision, event: put.key });
      }
      if (noticed.get(key) === entry) noticed.delete(key);
      return done;
    },
  };
}

/** What becomes of such a record. No writer rewrites an intent: which versions it was promised is not known. */
function findRemedy(key: string): string {
  return key.startsWith(ranges.intents)
    ? 'no version is destroyed for it; send what it was for again, then remove the key from etcd'
    : 'it is left out until it is written again';
}

async function putOrCount(
  entry: Entry,
  owner: Pick<EventDraft, 'type' | 'tenant' | 'subject'>,
  known: AnnouncedRecord | undefined,
  env: LoopEnv,
): Promise<Put> {
  const fault = findRecordFault(entry);
  env.log.warn('a record cannot be worked with: its event says what to do', { key: entry.key, because: fault! });
  const message = `What is stored at ${entry.key} cannot be worked with (${fault}): ${findRemedy(entry.key)}.`;
  const seen = known && (await env.reads.get(known.event));
  const put = await (seen
    ? env.events.again({ ...value<StoredEvent>(seen), message })
    : env.events.put({ ...owner, severity: 'warning', reason: 'record_unusable', message, data: { key: entry.key } }));
  await env.commit({ guards: [{ key: put.key, at: seen?.revision ?? 0 }], puts: [put], deletes: [] });
  return put;
}
