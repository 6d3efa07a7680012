import type { Cancel, Clock } from './index.js';

/** The clocks of a process, read at one moment, in milliseconds. */
export interface ClockReading {
  /** What its own wall clock shows. */
  readonly wall: number;
  readonly monotonic: number;
  /** What it takes the time to be. */
  readonly agreed: number;
}

/** What to add to the monotonic clock of this process to have the time of a wall clock. */
export interface ClockVote {
  readonly machine: string;
  readonly bias: number;
}

/** No clock is corrected for less, so that nothing flaps. */
const TOLERANCE_MS = 2_000;
/** How long a process that has lost the others keeps the time that it had with them: a server is restarted meanwhile. */
const ALONE_MS = 600_000;
/** How old the reading of a process may be that is listed. */
const READING_MAX_AGE_MS = 360_000;
/** How far two monotonic clocks run apart, at most. */
const DRIFT = 0.0005;

/**
 * The median of all clocks, where a machine has one vote whatever runs on it. Any value between the two middle ones is a median:
 * the one nearest to what held before is taken, so that of two clocks none moves the time alone.
 */
export function chooseBias(votes: readonly ClockVote[], held: number | undefined): number {
  const weighted = votes.map(({ machine, bias }) => {
    return { bias, weight: 1 / votes.filter(other => other.machine === machine).length };
  });
  const sum = (all: readonly { readonly weight: number }[]) => all.reduce((total, { weight }) => total + weight, 0);
  const half = sum(weighted) / 2 - 1e-6; // thirds of a vote do not add up to a vote
  const low = Math.min(...votes.flatMap(({ bias }) => (sum(weighted.filter(v => v.bias <= bias)) >= half ? bias : [])));
  const high = Math.max(
    ...votes.flatMap(({ bias }) => (sum(weighted.filter(v => v.bias >= bias)) >= half ? bias : [])),
  );
  if (held === undefined) return low;
  const nearest = Math.min(Math.max(held, low), high);
  return Math.abs(nearest - held) <= TOLERANCE_MS ? held : nearest;
}

interface Peer {
  readonly machine: string;
  /** The time that its wall clock shows when its monotonic clock shows 0. */
  readonly bias: number;
  /** What to add to our monotonic clock to have its own; infinite until a reading of it has come right after it was made. */
  readonly ahead: number;
  readonly heardAt: number;
}

/**
 * The time that the processes of the control plane agree on, in place of the wall clock of one.
 *
 * The own wall clock counts as long as it is about right; else time passes by the monotonic clock, from what the median of all wall
 * clocks shows. A wall clock that jumps, or stands still, so moves nothing in its process, until most do. A process that starts takes
 * over what those before it agree on. One that is alone follows its own clock.
 */
export class AgreedClock implements Clock {
  readonly #own: Clock;
  readonly #machine: string;
  readonly #peers = new Map<string, Peer>();
  #held: number | undefined;
  #aloneSince: number | undefined;
  #last = Number.NEGATIVE_INFINITY;

  /** `machine` is where this process runs: processes of one have one vote. */
  constructor(own: Clock, machine: string) {
    this.#own = own;
    this.#machine = machine;
  }

  now(): number {
    const monotonic = this.#own.monotonic();
    const own = this.#own.now() - monotonic;
    const votes = this.#listVotes();
    const isWaiting = votes.length === 0 && monotonic < (this.#aloneSince ?? Number.NEGATIVE_INFINITY) + ALONE_MS;
    if (!isWaiting || this.#held === undefined) {
      this.#held = chooseBias([...votes, { machine: this.#machine, bias: own }], this.#held);
    }
    // Whole, as every wall clock is: monotonic time has fractions.
    const now = Math.round(monotonic + (Math.abs(own - this.#held) <= TOLERANCE_MS ? own : this.#held));
    // What is taken back for little would run backwards: it stands still instead.
    if (now > this.#last || this.#last - now > 2 * TOLERANCE_MS) this.#last = now;
    return this.#last;
  }

  monotonic(): number {
    return this.#own.monotonic();
  }

  after(ms: number, fire: () => void): Cancel {
    return this.#own.after(ms, fire);
  }

  read(): ClockReading {
    return { wall: this.#own.now(), monotonic: this.#own.monotonic(), agreed: this.now() };
  }

  /** Takes over the time of processes that run already, from readings of which it is unknown how old they are. */
  adopt(readings: readonly ClockReading[]): void {
    const agreed = readings.map(reading => reading.agreed).sort((a, b) => a - b)[readings.length >> 1];
    if (agreed === undefined) return;
    const monotonic = this.#own.monotonic();
    const wall = this.#own.now();
    const isRight = wall >= agreed - TOLERANCE_MS && wall <= agreed + READING_MAX_AGE_MS;
    this.#held = (isRight ? wall : agreed) - monotonic;
    this.#aloneSince = monotonic;
  }

  /** Notes the reading of another process: `isFresh` when it was made just now. Of several the one that took least time counts. */
  addReading(peer: string, machine: string, { wall, monotonic }: ClockReading, isFresh: boolean): void {
    const heardAt = this.#own.monotonic();
    const before = this.#peers.get(peer);
    const former = before ? before.ahead - (heardAt - before.heardAt) * DRIFT : Number.NEGATIVE_INFINITY;
    const ahead = Math.max(former, isFresh ? monotonic - heardAt : Number.NEGATIVE_INFINITY);
    this.#peers.set(peer, { machine, bias: wall - monotonic, ahead, heardAt });
  }

  /** The process has ended. */
  forget(peer: string): void {
    this.now(); // the time that it leaves behind
    if (this.#peers.delete(peer) && this.#listVotes().length === 0) this.#aloneSince = this.#own.monotonic();
  }

  #listVotes(): readonly ClockVote[] {
    const answered = [...this.#peers.values()].filter(({ ahead }) => Number.isFinite(ahead));
    return answered.map(({ machine, bias, ahead }) => ({ machine, bias: bias + ahead }));
  }
}
