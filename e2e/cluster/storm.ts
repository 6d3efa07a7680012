import { setTimeout as pause } from 'node:timers/promises';

import { type Random, seededRandom } from '../../pkg/clock/index.js';
import type { StoreWorkload } from './workload.js';

export interface StormOptions {
  readonly seed: number;
  readonly ms: number;
}

interface Trouble {
  readonly name: string;
  /** How often it is chosen, against the others. */
  readonly weight: number;
  readonly run: (workload: StoreWorkload, random: Random) => Promise<void>;
}

const between = (random: Random, from: number, to: number) => from + random.next() * (to - from);
const pick = <T>(random: Random, things: readonly T[]): T => things[Math.floor(random.next() * things.length)]!;
const pickMember = (random: Random, { cluster }: StoreWorkload) => Math.floor(random.next() * cluster.size);

/** Longer than a leader's lease at times, so that another one is elected meanwhile. */
const FROZEN_CLIENT_MS = [500, 7_500] as const;

const troubles: readonly Trouble[] = [
  {
    name: 'the connections of a client are cut',
    weight: 6,
    run: async ({ links }, random) => {
      for (const proxy of pick(random, links)) proxy.cut();
    },
  },
  {
    name: 'what a client sends and hears is swallowed',
    weight: 2,
    run: async ({ links }, random) => {
      const proxies = pick(random, links);
      for (const proxy of proxies) proxy.mode = 'blackhole';
      await pause(between(random, 300, 4_000));
      for (const proxy of proxies) {
        proxy.mode = 'pass';
        proxy.cut(); // bytes are missing: a connection that goes on would be nonsense
      }
    },
  },
  {
    name: 'answers to a client are lost',
    weight: 6,
    run: async ({ links }, random) => {
      const proxies = pick(random, links);
      for (const proxy of proxies) proxy.onServerData = () => false;
      await pause(between(random, 5, 150));
      for (const proxy of proxies) {
        proxy.cut();
        proxy.onServerData = undefined;
      }
    },
  },
  {
    name: 'requests of a client arrive late, after it has given up',
    weight: 4,
    run: async ({ links }, random) => {
      const proxies = pick(random, links);
      for (const proxy of proxies) proxy.mode = 'hold';
      await pause(between(random, 100, 4_500));
      for (const proxy of proxies) {
        proxy.mode = 'pass';
        proxy.release();
      }
    },
  },
  {
    name: 'a client is frozen',
    weight: 2,
    run: async ({ clients }, random) => {
      const client = pick(random, clients);
      client.freeze();
      await pause(between(random, ...FROZEN_CLIENT_MS));
      client.thaw();
    },
  },
  {
    name: 'a member is frozen',
    weight: 2,
    run: async (workload, random) => {
      const member = pickMember(random, workload);
      workload.cluster.freeze(member);
      await pause(between(random, 300, 4_000));
      workload.cluster.thaw(member);
    },
  },
  {
    name: 'a member is killed and restarted',
    weight: 1,
    run: async (workload, random) => {
      const member = pickMember(random, workload);
      await workload.cluster.kill(member);
      await pause(between(random, 0, 2_000));
      workload.cluster.launch(member);
      await workload.cluster.untilServing(member);
    },
  },
  {
    name: 'a member is isolated',
    weight: 1,
    run: async (workload, random) => {
      const { cluster } = workload;
      if (!cluster.network.canIsolate) return;
      const member = pickMember(random, workload);
      cluster.network.isolate(member);
      await pause(between(random, 500, 4_000));
      cluster.network.heal(member);
    },
  },
];

/** Lets one trouble follow the other, chosen by a seed, and leaves everything healed. */
export async function runStorm(
  workload: StoreWorkload,
  { seed, ms }: StormOptions,
): Promise<ReadonlyMap<string, number>> {
  const random = seededRandom(seed);
  const lots = troubles.flatMap(trouble => Array.from({ length: trouble.weight }, () => trouble));
  const counts = new Map<string, number>();
  for (const deadline = performance.now() + ms; performance.now() < deadline; ) {
    const trouble = pick(random, lots);
    counts.set(trouble.name, (counts.get(trouble.name) ?? 0) + 1);
    await trouble.run(workload, random);
    await pause(between(random, 50, 600));
  }
  await workload.cluster.heal();
  return counts;
}
