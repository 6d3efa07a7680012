import {
  type AdvertisedCondition,
  type AdvertisedEngine,
  type Capacity,
  CONTAINERS_SEEN_WITHIN_MS,
} from '../../../crds/node/index.js';
import { describeSilentEngine, ENGINE_REMEDY } from '../../../crds/reasons/index.js';
import { type Clock, sleep } from '../../clock/index.js';
import { type AgentEnv, type AgentOptions, isEngineWord, readEngine } from '../agent-env.js';
import { readStateFile } from '../disk.js';

const FILE = 'engine.json';
const PING_EVERY_MS = 5_000;
/** An engine that has not answered for longer is down: three pings, so that one that is merely busy is not. */
const DOWN_AFTER_MS = 15_000;
/** After a list that followed an outage: so long do the workers have to report what it showed, before it is claimed again. */
const SETTLE_MS = 2_000;
const REFRESH_MS = 600_000;

/** What a heartbeat says of the engine. */
export interface EngineFactsRecord {
  readonly capacity: Capacity;
  readonly engine: AdvertisedEngine;
}

interface EngineOutage {
  readonly reason: 'engine_unreachable' | 'containers_unlisted';
  readonly since: string;
  /** When it was noticed, by the monotonic clock. */
  readonly at: number;
}

/**
 * Watches whether the container engine answers, and knows what it is.
 *
 * An engine that has been away counts as back when its containers have been listed since: until then their last reports are
 * not true any more. What the engine is is kept on disk, so that an agent sends heartbeats also when its engine is dead.
 */
export class EngineMonitor {
  readonly #env: Pick<AgentEnv, 'clock' | 'engine' | 'disk'>;
  readonly #options: AgentOptions;
  readonly #clock: Clock;
  #answeredAt: number;
  #listedAt: number;
  #outage: EngineOutage | undefined;
  #known: EngineFactsRecord | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(env: Pick<AgentEnv, 'clock' | 'engine' | 'disk'>, options: AgentOptions) {
    this.#env = env;
    this.#options = options;
    this.#clock = env.clock;
    this.#answeredAt = this.#clock.monotonic();
    this.#listedAt = this.#clock.monotonic();
  }

  /** How long ago the containers were last listed. */
  get containersSeenMsAgo(): number {
    return Math.max(0, Math.round(this.#clock.monotonic() - this.#listedAt));
  }

  /** Records a list of the containers that was requested at this monotonic time. */
  noteList(requestedAt: number): void {
    this.#listedAt = requestedAt;
    this.#answeredAt = Math.max(this.#answeredAt, requestedAt);
  }

  /** Asks the engine for a sign of life until aborted, and for its facts from time to time. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const askedAt = this.#clock.monotonic();
      try {
        await this.#env.engine.ping();
        this.#answeredAt = Math.max(this.#answeredAt, askedAt);
        if (askedAt - this.#readAt >= REFRESH_MS) await this.#refresh();
      } catch {
        // An engine that does not answer is noticed by the time that passes.
      }
      await sleep(this.#clock, PING_EVERY_MS, signal);
    }
  }

  /** What the engine is: as read last, from disk where an earlier agent knew it, or read now. */
  async load(): Promise<EngineFactsRecord> {
    if (this.#known) return this.#known;
    this.#known = await readStateFile<EngineFactsRecord>(this.#env.disk, FILE, isComplete);
    return this.#known ?? this.#refresh();
  }

  /** The condition `EngineReady` of the node. */
  describe(): AdvertisedCondition {
    this.#judge();
    if (!this.#outage) return ENGINE_READY;
    const { reason, since } = this.#outage;
    const message =
      reason === 'engine_unreachable'
        ? describeSilentEngine('the container engine', since)
        : `the container engine answers, but has listed no containers since ${since}: ${ENGINE_REMEDY}`;
    return { type: 'EngineReady', status: 'False', reason, message };
  }

  #judge(): void {
    const now = this.#clock.monotonic();
    const isDown = now - this.#answeredAt > DOWN_AFTER_MS;
    const isUnlisted = now - this.#listedAt > CONTAINERS_SEEN_WITHIN_MS;
    if (this.#outage) {
      const isBack = this.#listedAt > this.#outage.at && now - this.#listedAt >= SETTLE_MS;
      if (!isBack || isDown) return;
      this.#outage = undefined;
      this.#readAt = Number.NEGATIVE_INFINITY; // another version may have come back
    } else if (isDown || isUnlisted) {
      const [reason, lastAt] = isDown
        ? (['engine_unreachable', this.#answeredAt] as const)
        : (['containers_unlisted', this.#listedAt] as const);
      this.#outage = { reason, since: new Date(this.#clock.now() - (now - lastAt)).toISOString(), at: now };
    }
  }

  async #refresh(): Promise<EngineFactsRecord> {
    const read = await readEngine(this.#env.engine, this.#options);
    this.#readAt = this.#clock.monotonic();
    if (JSON.stringify(read) !== JSON.stringify(this.#known)) await this.#env.disk.keep(FILE, JSON.stringify(read));
    this.#known = read;
    return read;
  }
}

function isComplete({ capacity, engine }: Partial<EngineFactsRecord>): boolean {
  const amounts = [capacity?.cpu, capacity?.memory, capacity?.disk];
  return amounts.every(Number.isInteger) && [engine?.name, engine?.version].every(isEngineWord);
}

const ENGINE_READY: AdvertisedCondition = {
  type: 'EngineReady',
  status: 'True',
  reason: 'engine_answers',
  message: 'the container engine answers',
};
