import type { ServerResponse } from 'node:http';

import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { parseSecretPath } from '../../../crds/grammar/index.js';
import { isFinished, jobKind, type JobStatus, type StoredJob } from '../../../crds/job/index.js';
import { ranges, toStatusKey } from '../../../crds/keys/index.js';
import type { Clock } from '../../../pkg/clock/index.js';
import { type Cache, encode, type Entry, value } from '../../../pkg/store/index.js';
import { formatCursor } from '../../http/listing.js';
import { NDJSON_TYPE, rejectRequest, RequestRejection, SSE_TYPE } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';
import { repeatEvery } from '../../stream/open-streams.js';
import {
  type ChangeType,
  createCursorAfter,
  encodeFrameLine,
  type JoinedEntry,
  type WatchCursor,
  type WatchFormat,
} from '../../watch/frame.js';
import { readCursor, readFormat, type WatchEnv } from '../../watch/open-watch.js';

export type ReferenceWatchEnv = WatchEnv & { readonly clock: Clock };

const BOOKMARK_MS = 10_000;
/** More than this unread, and the client is cut. */
const UNREAD_BYTES = 1024 * 1024;
/** Most deployments that are read to resume one watch: a client that has missed more lists again. */
const REPLAYED_MAX = 200_000;

/** The secrets that deployments, and jobs that have not ended, refer to, by label, each as the list shows it. */
type ReferenceList = ReadonlyMap<string, Buffer>;

/** By label: one label never stands under two namespaces. */
export function listReferences(users: Iterable<Entry>): ReferenceList {
  const found = new Map<string, { readonly path: string; readonly deployments: string[]; readonly jobs: string[] }>();
  for (const entry of users) {
    const { name, secrets = [] } = value<StoredDeployment | StoredJob>(entry);
    for (const { vault_path: path } of secrets) {
      const label = parseSecretPath(path)?.label ?? path;
      const known = found.get(label) ?? { path, deployments: [], jobs: [] };
      found.set(label, known);
      const names = entry.key.startsWith(ranges.jobs) ? known.jobs : known.deployments;
      if (!names.includes(name)) names.push(name);
    }
  }
  const sorted = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(
    sorted.map(([name, { path, deployments, jobs }]) => [
      name,
      encode({ name, path, deployments, ...(jobs.length > 0 && { jobs }) }),
    ]),
  );
}

interface ReferenceChange {
  readonly type: ChangeType;
  readonly object: Buffer;
}

/** What makes one list into the other, in the order of labels. */
export function compareReferences(before: ReferenceList, after: ReferenceList): readonly ReferenceChange[] {
  const labels = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return labels.flatMap((label): readonly ReferenceChange[] => {
    const [old, now] = [before.get(label), after.get(label)];
    if (!now) return [{ type: 'deleted', object: old! }];
    if (!old) return [{ type: 'added', object: now }];
    return old.equals(now) ? [] : [{ type: 'modified', object: now }];
  });
}

/**
 * Watches the list of referenced secrets. An entry has no key of its own: the list is rebuilt from the deployments and jobs at
 * every revision that changes one, and the difference is sent. Their history gives the list at a client's cursor, so that it resumes
 * exactly, also between two changes of one revision.
 */
export async function watchReferences(env: ReferenceWatchEnv, call: ApiCall): Promise<RouteResult> {
  const format = readFormat(call);
  const cursor = readCursor(call, format);
  if (cursor instanceof RequestRejection) return cursor;
  await env.cache.barrier();
  const { tenant } = call;
  if (cursor && !isResumable(env, tenant, cursor)) {
    return rejectRequest('watch_expired', 'after', call.query.get('after') ?? '');
  }
  return {
    status: 200,
    type: format === 'sse' ? SSE_TYPE : NDJSON_TYPE,
    open: out => {
      const watcher = new ReferenceWatcher(env, { out, tenant, format });
      const forget = env.streams.add('watch', call.caller, () => watcher.close());
      out.once('close', () => {
        forget();
        watcher.close();
      });
      watcher.start(cursor);
    },
  };
}

function listTopics(tenant: string): readonly string[] {
  return [ranges.deployments, ranges.jobs].map(range => ranges.of(range, tenant));
}

/** Whether the thing refers to secrets that it may still read. */
function isUser({ entry, joined }: JoinedEntry): boolean {
  if (!entry.key.startsWith(ranges.jobs) || !joined) return true;
  const status = value<JobStatus>(joined);
  return status.uid !== value<StoredJob>(entry).metadata.uid || !isFinished(status);
}

function hasFinished(status: Entry | undefined): boolean {
  return status !== undefined && isFinished(value<JobStatus>(status));
}

/** Everything of a tenant that may refer to secrets, as it is now. */
function listUsers(cache: Cache, tenant: string): readonly Entry[] {
  const join = (entry: Entry) => ({ entry, joined: cache.get(toStatusKey(jobKind, entry.key)) });
  return listTopics(tenant).flatMap(topic => {
    const entries = cache.list(topic);
    return topic.startsWith(ranges.jobs) ? entries.filter(entry => isUser(join(entry))) : entries;
  });
}

/** The deployments and jobs of a tenant by key, as they were after a revision. Undefined when the history does not reach back to it. */
function findUsersAt({ cache, watchHub }: WatchEnv, tenant: string, revision: number): Map<string, Entry> | undefined {
  const { history } = watchHub;
  if (revision > history.revision) return undefined; // of another store, or of one that was set back
  const from = history.numberAfter(createCursorAfter(revision));
  if (from === undefined) return undefined;
  const then = new Map(listUsers(cache, tenant).map(entry => [entry.key, entry]));
  for (const topic of listTopics(tenant)) {
    for (const [name, before] of history.undone(topic, from)) {
      if (before && isUser(before)) then.set(topic + name, before.entry);
      else then.delete(topic + name);
    }
  }
  return then;
}

function toList(users: ReadonlyMap<string, Entry>): ReferenceList {
  return listReferences([...users.keys()].toSorted().map(key => users.get(key)!));
}

/** The list as it was after a revision. Undefined when the history does not reach back to it. */
function findListAt(env: WatchEnv, tenant: string, revision: number): ReferenceList | undefined {
  const then = findUsersAt(env, tenant, revision);
  return then && toList(then);
}

/** Whether a deployment or a job refers to the same secrets as before: most writes do not change the list. */
function hasSameReferences(before: Entry | undefined, after: Entry | undefined): boolean {
  const [old, now] = [before, after].map(entry => (entry ? (value<StoredDeployment>(entry).secrets ?? []) : []));
  return old!.length === now!.length && old!.every(({ vault_path: path }, at) => path === now![at]!.vault_path);
}

/** Whether a client can go on after its cursor. Between two changes of one revision, the list before that is needed too. */
function isResumable(env: WatchEnv, tenant: string, { revision, position, epoch }: WatchCursor): boolean {
  if (epoch !== env.watchHub.history.epoch) return false; // from before a restore
  const oldest = position === Number.POSITIVE_INFINITY ? revision : revision - 1;
  return findListAt(env, tenant, oldest) !== undefined && revision <= env.watchHub.history.revision;
}

/**
 * The list after each revision since `revision` that has changed it. One pass over the history: it may hold thousands of changes,
 * and a server does nothing else meanwhile. Ends with undefined when more deployments would have to be read than that allows.
 */
function* replayLists(
  env: WatchEnv,
  tenant: string,
  revision: number,
): Generator<readonly [revision: number, list: ReferenceList] | undefined> {
  const { history } = env.watchHub;
  const users = findUsersAt(env, tenant, revision);
  if (!users) return yield undefined;
  const topics = listTopics(tenant);
  let changed: number | undefined;
  let read = 0;
  const from = history.numberAfter(createCursorAfter(revision)) ?? history.next;
  for (let number = from; number <= history.next; number++) {
    const frame = number < history.next ? history.at(number) : undefined;
    if (changed !== undefined && frame?.revision !== changed) {
      read += users.size;
      if (read > REPLAYED_MAX) return yield undefined;
      yield [changed, toList(users)];
      changed = undefined;
    }
    if (!frame || !topics.includes(frame.topic)) continue;
    const { key } = frame.current.entry;
    const after = frame.type === 'deleted' || !isUser(frame.current) ? undefined : frame.current.entry;
    if (!hasSameReferences(users.get(key), after)) changed = frame.revision;
    if (after) users.set(key, after);
    else users.delete(key);
  }
}

interface ReferenceWatcherOptions {
  readonly out: ServerResponse;
  readonly tenant: string;
  readonly format: WatchFormat;
}

class ReferenceWatcher {
  readonly #env: ReferenceWatchEnv;
  readonly #options: ReferenceWatcherOptions;
  #list: ReferenceList = new Map();
  #stops: readonly (() => void)[] = [];

  constructor(env: ReferenceWatchEnv, options: ReferenceWatcherOptions) {
    this.#env = env;
    this.#options = options;
  }

  start(cursor: WatchCursor | undefined): void {
    const { cache, clock } = this.#env;
    const { tenant } = this.#options;
    const topics = listTopics(tenant);
    const statuses = ranges.of(ranges.jobStatuses, tenant);
    let hasChanged = false;
    this.#stops = [
      cache.subscribe(({ key, entry, previous }) => {
        const isOf = topics.some(topic => key.startsWith(topic));
        hasChanged ||= isOf && !hasSameReferences(previous, entry);
        hasChanged ||= key.startsWith(statuses) && hasFinished(previous) !== hasFinished(entry);
      }),
      cache.onRevision(revision => {
        if (hasChanged) this.#moveTo(listReferences(listUsers(cache, tenant)), revision);
        hasChanged = false;
      }),
      cache.onReset(() => this.#cut()),
      repeatEvery(clock, BOOKMARK_MS, () => this.#write('bookmark', String(cache.revision))),
    ];
    if (cursor && !isResumable(this.#env, tenant, cursor)) return this.#cut();
    const { revision, position, name } = cursor ?? { ...createCursorAfter(cache.revision), name: '' };
    const list = findListAt(this.#env, tenant, revision) ?? new Map<string, Buffer>();
    if (name !== undefined) {
      for (const [label, object] of list) if (label > name) this.#write('added', `${revision}:${label}`, object);
      this.#write('bookmark', String(revision));
    } else if (position !== Number.POSITIVE_INFINITY) {
      this.#list = findListAt(this.#env, tenant, revision - 1) ?? list;
      this.#moveTo(list, revision, position + 1);
    }
    this.#list = list;
    for (const later of replayLists(this.#env, tenant, revision)) {
      if (!later) return this.#cut();
      this.#moveTo(later[1], later[0]);
    }
  }

  close(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    if (!this.#options.out.writableEnded) this.#options.out.end();
  }

  /** Sends what makes the last list into this one, but for the first changes that the client has received already. */
  #moveTo(list: ReferenceList, revision: number, received = 0): void {
    for (const [at, { type, object }] of compareReferences(this.#list, list).entries()) {
      if (at >= received) this.#write(type, `${revision}.${at}`, object);
    }
    this.#list = list;
    if (this.#options.out.writableLength > UNREAD_BYTES) this.#cut();
  }

  /** The client must list again. */
  #cut(): void {
    this.#write('gone', String(this.#env.cache.revision));
    this.close();
  }

  #write(type: ChangeType | 'bookmark' | 'gone', cursor: string, object?: Buffer): void {
    const { out, format } = this.#options;
    if (out.destroyed || out.writableEnded) return;
    out.write(encodeFrameLine(format, type, formatCursor(cursor, this.#env.watchHub.history.epoch), object));
  }
}
