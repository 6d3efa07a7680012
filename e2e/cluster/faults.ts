import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { readSharedClock } from './recording-client.js';
import type { FaultNeeds } from './tools.js';
import type { StoreWorkload } from './workload.js';

/** How long the faults of a run last. */
export interface FaultTimes {
  /** How long a majority is gone. */
  readonly quorumLostMs: number;
  /** How long a client is cut off. */
  readonly clientCutMs: number;
}

/** Something that happens to a cluster while clients work on it. */
export interface ClusterFault {
  readonly name: string;
  /** What breaks: the members and the network between them, or what they keep. */
  readonly about: 'members' | 'data';
  /** Fewest members that it makes sense with. */
  readonly members: 1 | 3;
  readonly needs?: FaultNeeds;
  /** It takes too long for every run of the tests, or resembles another one: `make chaos` has it. */
  readonly isThorough?: boolean;
  /** How long service may take to resume on a quiet machine, where that differs from the others. */
  readonly resumeWithinMs?: number;
  /** No majority is taken away for long: the longest time without a stored write counts as the time to resume. */
  readonly isServedThroughout?: boolean;
  /** Makes it happen. The answer is the moment from which service must resume. */
  readonly inject: (workload: StoreWorkload, times: FaultTimes) => Promise<number>;
}

/** More than a leader keeps for followers that are behind, so that one must be sent a snapshot. */
const SNAPSHOT_BEHIND_ENTRIES = 5_300;

/** Restarts of all members, one after the other. */
const ROLLING_RESTARTS = 20;

/** Slower than the heartbeats of a leader, and than the time after which its followers elect another one. */
const SLOW_FSYNCS_MS = [100, 1_000] as const;

/** Compactions of one run, and what passes between two. */
const [COMPACTIONS, COMPACT_EVERY_MS] = [15, 200] as const;

/** The matrix. What each leaves broken is healed by `EtcdCluster.heal` after service has resumed, or by itself. */
export const faults: readonly ClusterFault[] = [
  {
    name: 'leader killed',
    about: 'members',
    members: 3,
    inject: async ({ cluster }) => {
      const leader = await cluster.leader();
      const at = readSharedClock();
      await cluster.kill(leader);
      return at;
    },
  },
  {
    name: 'leader frozen',
    about: 'members',
    members: 3,
    inject: async ({ cluster }) => {
      const leader = await cluster.leader();
      cluster.freeze(leader);
      return readSharedClock();
    },
  },
  {
    name: 'follower isolated',
    about: 'members',
    members: 3,
    needs: 'isolation',
    inject: async ({ cluster }) => {
      const follower = await cluster.follower();
      cluster.network.isolate(follower);
      return readSharedClock();
    },
  },
  {
    name: 'leader isolated',
    about: 'members',
    members: 3,
    needs: 'isolation',
    inject: async ({ cluster }) => {
      const leader = await cluster.leader();
      cluster.network.isolate(leader);
      return readSharedClock();
    },
  },
  {
    name: 'quorum lost',
    about: 'members',
    members: 1,
    inject: async ({ cluster }, { quorumLostMs }) => {
      const gone = Array.from({ length: Math.ceil(cluster.size / 2) }, (_, member) => member);
      await Promise.all(gone.map(member => cluster.kill(member)));
      await pause(quorumLostMs);
      gone.forEach(member => cluster.launch(member));
      await cluster.untilMajorityServes();
      return readSharedClock();
    },
  },
  {
    name: 'members restarted one after the other',
    about: 'members',
    members: 1,
    isServedThroughout: true,
    inject: async ({ cluster }) => {
      for (let member = 0; member < cluster.size; member++) await cluster.restart(member);
      return readSharedClock();
    },
  },
  {
    name: 'members restarted one after the other, again and again',
    about: 'members',
    members: 3,
    isThorough: true,
    isServedThroughout: true,
    inject: async ({ cluster }) => {
      for (let restart = 0; restart < ROLLING_RESTARTS; restart++) await cluster.restart(restart % cluster.size);
      return readSharedClock();
    },
  },
  {
    name: 'all members killed at once',
    about: 'members',
    members: 3,
    inject: async ({ cluster }) => {
      const all = Array.from({ length: cluster.size }, (_, member) => member);
      await Promise.all(all.map(member => cluster.kill(member)));
      all.forEach(member => cluster.launch(member));
      await cluster.untilMajorityServes();
      return readSharedClock();
    },
  },
  {
    name: 'leader frozen, and back when another one leads',
    about: 'members',
    members: 3,
    isThorough: true,
    isServedThroughout: true,
    inject: async ({ cluster }, { quorumLostMs }) => {
      const leader = await cluster.leader();
      cluster.freeze(leader);
      await pause(quorumLostMs);
      cluster.thaw(leader);
      return readSharedClock();
    },
  },
  ...(['in', 'out'] as const).map(
    (way): ClusterFault => ({
      name:
        way === 'in' ? 'leader receives nothing from other members' : 'other members receive nothing from the leader',
      about: 'members',
      members: 3,
      needs: 'isolation',
      isThorough: true,
      inject: async ({ cluster }) => {
        const leader = await cluster.leader();
        cluster.network.isolate(leader, { way });
        return readSharedClock();
      },
    }),
  ),
  ...(['in', 'out'] as const).map(
    (way): ClusterFault => ({
      name: way === 'in' ? 'members receive nothing from clients' : 'clients receive nothing from members',
      about: 'members',
      members: 1,
      needs: 'isolation',
      isThorough: true,
      inject: async ({ cluster }, { clientCutMs }) => {
        for (let member = 0; member < cluster.size; member++) cluster.network.cutClients(member, way);
        await pause(clientCutMs);
        for (let member = 0; member < cluster.size; member++) cluster.network.heal(member);
        return readSharedClock();
      },
    }),
  ),
  ...SLOW_FSYNCS_MS.map(
    (ms): ClusterFault => ({
      name: `every fsync of the leader takes ${ms} ms`,
      about: 'data',
      members: 1,
      needs: 'tracing',
      isThorough: true,
      resumeWithinMs: 10_000, // it goes on all the while, and a term takes several fsyncs
      inject: async ({ cluster }, { clientCutMs }) => {
        await cluster.slowDisk(await cluster.leader(), ms);
        const at = readSharedClock();
        await pause(clientCutMs);
        return at;
      },
    }),
  ),
  {
    name: 'disk of the leader full',
    about: 'data',
    members: 1,
    needs: 'tracing',
    isThorough: true,
    inject: async ({ cluster }) => {
      const leader = await cluster.leader();
      await cluster.fillDisk(leader);
      if (cluster.size > 1) return readSharedClock();
      await cluster.startAll();
      return readSharedClock();
    },
  },
  {
    name: 'file system of a member really full',
    about: 'data',
    members: 1,
    needs: 'mounts',
    isThorough: true,
    inject: async ({ cluster }) => {
      const leader = await cluster.leader();
      await cluster.fillFileSystem(leader);
      if (cluster.size > 1) return readSharedClock();
      await cluster.startAll();
      return readSharedClock();
    },
  },
  {
    name: 'compaction while a watcher lags',
    about: 'data',
    members: 1,
    resumeWithinMs: 1_000,
    inject: async ({ cluster, collect, links }, { clientCutMs }) => {
      for (const proxy of links[0]!) proxy.mode = 'blackhole';
      await pause(clientCutMs);
      await cluster.compact(await collect());
      for (const proxy of links[0]!) {
        proxy.forget(); // the client has to find out by itself
        proxy.mode = 'pass';
      }
      return readSharedClock();
    },
  },
  {
    name: 'compaction every 200 ms under load',
    about: 'data',
    members: 1,
    inject: async ({ cluster, collect }) => {
      for (let [round, compacted] = [0, 0]; round < COMPACTIONS; round++) {
        const newest = await collect();
        if (newest > compacted) await cluster.compact(newest);
        compacted = newest;
        await pause(COMPACT_EVERY_MS);
      }
      return readSharedClock();
    },
  },
  {
    name: 'snapshot installed on a member far behind',
    about: 'data',
    members: 3,
    inject: async ({ cluster }) => {
      const leader = await cluster.leader();
      const follower = (leader + 1) % cluster.size;
      await cluster.kill(follower);
      await cluster.fillLog(SNAPSHOT_BEHIND_ENTRIES, leader);
      cluster.launch(follower);
      await cluster.untilServing(follower);
      if (!/received and saved database snapshot/.test(readFileSync(cluster.logFile(follower), 'utf8')))
        throw new Error(`no snapshot was sent; see ${cluster.logFile(follower)}`);
      return readSharedClock();
    },
  },
  {
    name: 'quota reached',
    about: 'data',
    members: 1,
    inject: async ({ cluster, collect }) => {
      const leader = await cluster.leader();
      await cluster.fillDatabase(leader);
      await pause(1_000);
      await cluster.compact(await collect(), leader);
      for (let member = 0; member < cluster.size; member++) await cluster.defragment(member);
      await cluster.disarm(leader);
      return readSharedClock();
    },
  },
  {
    name: 'older snapshot restored',
    about: 'data',
    members: 1,
    needs: 'snapshots',
    inject: async ({ cluster, beginHistory }) => {
      const file = join(cluster.folder, 'snapshot.db');
      cluster.saveSnapshot(file);
      await pause(1_000);
      await beginHistory(() => cluster.restoreSnapshot(file));
      return readSharedClock();
    },
  },
];
