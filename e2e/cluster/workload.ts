import { TcpProxy } from '../../dev/processes/index.js';
import {
  checkExactlyOnce,
  checkFencing,
  checkLinearizability,
  checkTail,
  type HistoryRecord,
  type KeyChange,
  type KeyState,
  type TailFrame,
  type Violation,
} from '../history/index.js';
import { type WorkloadClient, ClientProcess, startWorkloadClient } from './clients.js';
import type { EtcdCluster } from './etcd-cluster.js';
import { pollUntil } from './poll-until.js';
import { type Activity, type ClientHistory, LEADER_KEY, readSharedClock } from './recording-client.js';

export interface WorkloadOptions {
  readonly clients?: number;
  readonly workers?: number;
  readonly pauseMs?: number;
  /** Each client is a process of its own. */
  readonly separate?: boolean;
  readonly logs?: boolean;
}

/** A stretch of time with one history of the store. Restoring a snapshot begins another one. */
interface Era {
  readonly events: KeyChange[];
  /** What it began with. */
  readonly restored: ReadonlyMap<string, KeyState>;
  /** When it ended. */
  until: number;
}

/** The result of a run. */
export interface WorkloadOutcome {
  readonly violations: readonly Violation[];
  readonly operations: number;
  readonly unknown: number;
  readonly records: readonly HistoryRecord[];
}

let runs = 0;

/** Clients at work on a cluster, each with a way of its own to each member, and the record of what is stored. */
export class StoreWorkload {
  readonly cluster: EtcdCluster;
  readonly clients: readonly WorkloadClient[];
  /** The ways of each client to each member. */
  readonly links: readonly (readonly TcpProxy[])[];
  readonly #prefix: string;
  readonly #eras: Era[] = [{ events: [], restored: new Map(), until: Infinity }];
  /** The newest revision before the clients began. */
  readonly #begin: number;
  #after: number;

  private constructor(
    cluster: EtcdCluster,
    links: readonly (readonly TcpProxy[])[],
    clients: readonly WorkloadClient[],
    prefix: string,
    after: number,
  ) {
    this.cluster = cluster;
    this.links = links;
    this.clients = clients;
    this.#prefix = prefix;
    this.#begin = after;
    this.#after = after;
  }

  /** Starts clients on an empty part of the store, and waits until all of them have done everything once. */
  static async start(cluster: EtcdCluster, options: WorkloadOptions = {}): Promise<StoreWorkload> {
    const { clients: count = 3, workers = 4, pauseMs = 5, separate = false, logs = false } = options;
    const prefix = `/run-${process.pid}-${++runs}/`;
    const { revision } = await cluster.status(await cluster.leader());
    const links: TcpProxy[][] = [];
    const clients: WorkloadClient[] = [];
    for (let n = 0; n < count; n++) {
      const proxies = await Promise.all(
        Array.from({ length: cluster.size }, (_, member) => TcpProxy.start(() => cluster.target(member))),
      );
      links.push(proxies);
      const settings = {
        name: `client${n}`,
        endpoints: proxies.map(({ port }) => `https://127.0.0.1:${port}`),
        prefix,
        certificates: cluster.certificates,
        seed: runs * 100 + n,
        workers,
        pauseMs,
        ...(logs ? { logFile: `${cluster.folder}/run${runs}-client${n}.log` } : {}),
      };
      clients.push(separate ? new ClientProcess(settings, cluster.folder) : startWorkloadClient(settings));
    }
    const workload = new StoreWorkload(cluster, links, clients, prefix, revision);
    await workload.untilResumed(0, 60_000);
    return workload;
  }

  /** Reads what was stored since the last time, and gives the newest revision of it. */
  collect = async (): Promise<number> => {
    const member = await this.cluster.leader();
    const events = await this.cluster.events(this.#prefix, this.#after, member);
    for (const event of events) this.#eras.at(-1)!.events.push(event);
    this.#after = events.at(-1)?.revision ?? this.#after;
    return this.#after;
  };

  /** Ends one history of the store and begins another one: `restore` puts an older state in place. */
  beginHistory = async (restore: () => Promise<void>): Promise<void> => {
    for (const proxy of this.links.flat()) proxy.mode = 'refuse';
    for (const proxy of this.links.flat()) proxy.cut();
    await this.collect();
    this.#eras.at(-1)!.until = readSharedClock();
    await restore();
    const restored = new Map<string, KeyState>();
    this.#eras.push({ events: [], restored, until: Infinity });
    this.#after = this.#begin;
    await this.collect();
    for (const { key, revision, bytes } of this.#eras.at(-1)!.events)
      restored.set(key, bytes === undefined ? { revision: 0, bytes } : { revision, bytes });
    for (const proxy of this.links.flat()) proxy.mode = 'pass';
  };

  /** Waits until every client has done everything since a moment, and one of them leads. */
  async untilResumed(since: number, withinMs: number): Promise<void> {
    const lacking = (): string[] => {
      const own = this.clients.flatMap((client, n) =>
        (['write', 'read', 'cache', 'lease', 'tail'] satisfies Activity[])
          .filter(activity => client.progress[activity] <= since)
          .map(activity => `client${n} to ${activity}`),
      );
      return this.clients.some(({ progress }) => progress.lead > since) ? own : [...own, 'a leader to write'];
    };
    await pollUntil('service to resume', withinMs, async () => (lacking().length === 0 ? true : undefined)).catch(
      (thrown: unknown) => {
        throw new Error(`service did not resume: still waiting for ${lacking().join(', ')}`, { cause: thrown });
      },
    );
  }

  /** Ends the clients and judges what they recorded. */
  async judge(): Promise<WorkloadOutcome> {
    const histories = await this.#finish();
    const records = histories.flatMap(history => history.records);
    const violations = this.#eras.flatMap((era, n) => {
      const begin = this.#eras[n - 1]?.until ?? -Infinity;
      return [...judgeEra(records, begin, era), ...histories.flatMap(history => judgeTail(history, begin, era))];
    });
    const last = this.#eras.at(-1)!;
    const caches = histories.flatMap(({ cached }, n) => compareCache(`client${n}`, cached, last.events));
    const writes = records.filter(record => record.kind === 'write');
    return {
      violations: [...violations, ...caches],
      records,
      operations: records.filter(({ kind }) => kind === 'read' || kind === 'write' || kind === 'lease').length,
      unknown: writes.filter(({ outcome }) => outcome === 'unknown').length,
    };
  }

  async #finish(): Promise<readonly ClientHistory[]> {
    await Promise.all(this.clients.map(client => client.quiesce()));
    const revision = await this.collect();
    const histories = await Promise.all(this.clients.map(client => client.finish(revision)));
    await Promise.all(this.links.flat().map(proxy => proxy.stop()));
    return histories;
  }
}

function judgeEra(
  records: readonly HistoryRecord[],
  begin: number,
  { events, restored, until: end }: Era,
): Violation[] {
  const own = records.flatMap((record): HistoryRecord[] => {
    if (!('begin' in record) || record.begin >= end) return [];
    if (record.begin >= begin && record.end <= end) return [record];
    return record.kind === 'write' ? [{ ...record, outcome: 'unknown' }] : []; // what was before may have been taken back
  });
  const findFence = ({ key, bytes }: KeyChange) =>
    key.startsWith('led/') && bytes !== undefined ? (JSON.parse(bytes) as { readonly fence: number }).fence : undefined;
  return [
    ...checkExactlyOnce(own, events),
    ...checkFencing(events, { leaderKey: LEADER_KEY, fenceOf: findFence }),
    // What ended before is in what was restored, or was taken back.
    ...checkLinearizability(
      own.filter(record => 'end' in record && record.end > begin),
      restored,
    ),
  ];
}

/** A tail belongs to a history until its first complete state after it. */
function judgeTail({ records }: ClientHistory, begin: number, { events, until: end }: Era): Violation[] {
  const frames = records.filter((record): record is TailFrame => record.kind === 'reset' || record.kind === 'changes');
  const placeAfter = (moment: number) => {
    const place = frames.findIndex(({ kind, at }) => kind === 'reset' && at > moment);
    return place < 0 ? frames.length : place;
  };
  return checkTail(frames.slice(begin === -Infinity ? 0 : placeAfter(begin), placeAfter(end)), events);
}

/** Where what a cache shows in the end differs from what is stored. */
function compareCache(name: string, cached: ClientHistory['cached'], events: readonly KeyChange[]): Violation[] {
  const stored = new Map<string, number>();
  for (const { key, bytes, revision } of events) {
    if (bytes === undefined) stored.delete(key);
    else stored.set(key, revision);
  }
  const wrong = cached.filter(([key, revision]) => stored.get(key) !== revision).length;
  if (wrong === 0 && cached.length === stored.size) return [];
  const because = `the cache of ${name} shows ${cached.length} keys, ${wrong} of them wrong, where ${stored.size} are stored`;
  return [{ promise: 'tail', because }];
}
