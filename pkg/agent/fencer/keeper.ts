import { type Clock, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import { ARMED, type FencerDeadline, parseDeadlines } from './order.js';

/** How often it is looked whether a deadline has passed. */
const LOOK_MS = 250;
/** The same where one has passed and nothing was found that writes: to look costs more than to wait. */
const REST_MS = 1_000;
/** How often it is looked who writes while no deadline has passed, so that it need not be looked for when one has. */
const REMEMBER_MS = 5_000;
/** Without an agent, and without anything that it would have to kill, it goes on for so long: an agent that is started again finds it. */
const IDLE_MS = 600_000;

/** The outside world of the fencer. */
export interface KeeperEnv {
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds since the boot of the machine, suspended or not. */
  readonly uptimeMs: () => number;
  readonly writers: {
    /** Looks which containers can write to a folder. */
    remember(folders: readonly string[]): void;
    /** Kills them, those that are remembered first; answers how many processes there were. */
    kill(folders: readonly string[]): number;
  };
  /** What outlives this process until the machine is off. */
  readonly kept: { read(): string | undefined; write(text: string): void };
}

/** Keeps the deadlines that were ordered last. It holds none in its memory, so that two of them at once keep the same ones. */
export class DeadlineKeeper {
  readonly #env: KeeperEnv;
  #neededAt: number;
  #rememberedAt = Number.NEGATIVE_INFINITY;

  constructor(env: KeeperEnv) {
    this.#env = env;
    this.#neededAt = env.uptimeMs();
  }

  /** Takes a line of an agent; returns the answer to it. */
  take(line: string): string {
    if (!parseDeadlines(line)) return 'refused';
    this.#env.kept.write(line);
    this.#neededAt = this.#env.uptimeMs();
    return ARMED;
  }

  /** Looks until aborted or, when it is not to stay, until no agent needs it. */
  async run(signal: AbortSignal, staysIdle: boolean): Promise<void> {
    while (!signal.aborted && (staysIdle || this.#isNeeded())) {
      await sleep(this.#env.clock, this.#look(), signal);
    }
  }

  get #deadlines(): readonly FencerDeadline[] {
    return parseDeadlines(this.#env.kept.read() ?? '') ?? [];
  }

  #isNeeded(): boolean {
    const now = this.#env.uptimeMs();
    return now - this.#neededAt < IDLE_MS || this.#deadlines.some(({ at }) => at > now);
  }

  /** Answers in how many milliseconds it is to be looked again. */
  #look(): number {
    const now = this.#env.uptimeMs();
    const deadlines = this.#deadlines;
    const passed = deadlines.filter(({ at }) => now >= at);
    try {
      if (passed.length > 0) return this.#kill(passed) > 0 ? LOOK_MS : REST_MS;
      if (deadlines.length > 0 && now - this.#rememberedAt >= REMEMBER_MS) this.#remember(deadlines, now);
    } catch (thrown) {
      this.#env.log.error('what writes to volumes could not be looked for, retrying', { error: asError(thrown) });
    }
    return LOOK_MS;
  }

  #remember(deadlines: readonly FencerDeadline[], now: number): void {
    this.#rememberedAt = now;
    this.#env.writers.remember(deadlines.map(({ folder }) => folder));
  }

  #kill(passed: readonly FencerDeadline[]): number {
    const count = this.#env.writers.kill(passed.map(({ folder }) => folder));
    if (count === 0) return count;
    this.#neededAt = this.#env.uptimeMs();
    this.#env.log.warn(
      'killed what writes to volumes: their agent is silent or without the control plane, which may promote a copy elsewhere; see whether both run',
      { count, volume: passed.map(({ volume }) => volume).join() },
    );
    return count;
  }
}
