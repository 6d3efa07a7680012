import { expect } from 'chai';

import { ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { AgreedClock } from '../../pkg/clock/agreed-clock.js';
import type { Clock } from '../../pkg/clock/index.js';
import { withWallClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import { PlatformRecord } from '../../pkg/process/platform-record.js';
import { type Store, value, type WatchCache } from '../../pkg/store/index.js';
import type { SimProcess, SimWorld } from '../../dev/simulation/index.js';
import type { Invariant } from './history.js';

const DAY_MS = 86_400_000;
/** The seeds at which clocks are wrong: one in five. */
const [TURN, TURNS] = [4, 5];
const PROCESSES = ['controllers-1', 'api-1', 'controllers-2', 'api-2'];
const MACHINES = ['a1', 'b1', 'a2'];
const TTL_SECONDS = 15;
/** How far the time that is agreed on may be off, and a report be late. */
const OFF_MS = 10_000;

/** What a wrong clock shows, by the true time and by how long the world goes on. */
const wrongClocks: readonly ((now: number, time: number) => number)[] = [
  now => now + DAY_MS,
  (now, time) => now + (time % 40_000 < 20_000 ? DAY_MS : 0),
  now => now - DAY_MS,
  (now, time) => now - time,
  (now, time) => now + time / 100,
];

/** The wall clocks of all processes: at some seeds one process of the control plane, and one machine, have a wrong one. */
export class WallClocks {
  readonly #world: SimWorld;
  readonly #wrong = new Map<string, (typeof wrongClocks)[number]>();

  constructor(seed: number, world: SimWorld) {
    this.#world = world;
    if (seed % TURNS !== TURN) return;
    const turn = Math.floor(seed / TURNS);
    const pick = <T>(all: readonly T[], at: number) => all[at % all.length]!;
    this.#wrong.set(pick(PROCESSES, turn >> 1), pick(wrongClocks, turn));
    this.#wrong.set(pick(MACHINES, turn), pick(wrongClocks, turn + 1));
  }

  /** The clock of a machine, or of a process of the control plane, with the wall clock that it has there. */
  read(name: string, clock: Clock): Clock {
    const show = this.#wrong.get(name);
    return show ? withWallClock(clock, () => Math.round(show(clock.now(), this.#world.time))) : clock;
  }

  /** The clock that a process of the control plane works with. Nothing is told where all clocks are right. */
  take({ name, clock }: SimProcess): Clock {
    return this.#wrong.size > 0 ? new AgreedClock(this.read(name, clock), name) : clock;
  }

  /** Has the process tell and hear what clocks show, and fills its cache. */
  follow(life: SimProcess, clock: Clock, parts: { readonly store: Store; readonly cache: WatchCache }): void {
    const forever = new AbortController().signal;
    const fill = () => void parts.cache.run(forever);
    if (!(clock instanceof AgreedClock)) return fill();
    const about = { program: 'process', node: life.name, ttlSeconds: TTL_SECONDS };
    const record = new PlatformRecord({ ...parts, ...about, clock, random: life.random, log: silentLogger });
    void record.run(forever);
    void record.tried.then(fill);
  }
}

/** What decisions count from is not to come, and not before the replica that it is about, whatever the clock of the node shows. */
export const createClockInvariant =
  (clock: Clock): Invariant =>
  (changes, history) => {
    const told = changes.filter(({ key, entry }) => entry && key.startsWith(ranges.reports));
    for (const { key, entry } of told) {
      const { since = '', replica: uid } = value<Report>(entry!);
      const createdAt = history.all<Replica>(ranges.replicas).find(replica => replica.uid === uid)?.createdAt ?? '';
      expect(Date.parse(since) > clock.now() + OFF_MS, `${key} is of a time to come`).to.equal(false);
      expect(Date.parse(since) < Date.parse(createdAt) - OFF_MS, `${key} is older than its replica`).to.equal(false);
    }
  };
