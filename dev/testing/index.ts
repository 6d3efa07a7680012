/**
 * What tests of every floor share: waiting for something to come true, and holding the cost of hostile input.
 *
 * One idea to hold: a test asserts no absolute time, because it also runs on a busy machine. What must not hang is
 * waited for generously with `until`; what must not be slow is held by how its cost grows with its input, with
 * `assertLinearCost`. Absolute figures belong to `make bench`.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Far longer than anything takes on an idle machine: a busy one may be ten times as slow. */
const PATIENCE_MS = 240_000;
const LEAST_PAUSE_MS = 10;
const MOST_PAUSE_MS = 200;
/** What takes long is looked at less often, as a look costs the test and the server that it asks: a wait is longer by a twentieth at most. */
const PAUSE_SHARE = 1 / 20;

/** Polls until the result is neither undefined nor false; fails with what it was waiting for and the last error. */
export async function until<T>(
  what: string,
  poll: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = PATIENCE_MS,
): Promise<T> {
  const begun = performance.now();
  let lastError: unknown;
  for (;;) {
    try {
      const result = await poll();
      if (result !== undefined && result !== false) return result;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    const waitedMs = performance.now() - begun;
    if (waitedMs > withinMs) {
      throw new Error(`gave up after ${withinMs} ms waiting for ${what}`, { cause: lastError });
    }
    await pause(Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, waitedMs * PAUSE_SHARE)));
  }
}

/** What Node is given to run a script with modules of the test's own, as the test itself runs: compiled, or as they stand. */
export function toScriptArguments(script: string, ...argv: readonly string[]): readonly string[] {
  return [...process.execArgv, '--input-type=module', '--eval', script, ...argv];
}

/** Linear work doubles its cost with its input, quadratic work quadruples it: the bound lies in between. */
const MAX_GROWTH = 3;
const LEAST_ROUNDS = 5;
const MOST_ROUNDS = 36;
/** Work that is shorter is repeated: the processor time of less is mostly noise. */
const LEAST_SAMPLE_MS = 5;
const MAX_REPEATS = 4096;

/** Work whose cost must stay in proportion to its input. */
export interface CostedWork<T> {
  /** The size of the largest input: characters, entries, levels. */
  readonly size: number;
  readonly prepare: (size: number) => T;
  readonly run: (input: T) => unknown;
}

/** Throws when the cost of work grows faster than in proportion to the size of its input. */
export async function assertLinearCost<T>(work: CostedWork<T>): Promise<void> {
  const growth = await measureGrowth(work);
  if (growth >= MAX_GROWTH) {
    const found = `the cost grew ${growth.toFixed(1)}-fold with each doubling of the input up to ${work.size}`;
    throw new Error(`${found}; in proportion would be 2-fold, and ${MAX_GROWTH}-fold is too much`);
  }
}

/**
 * By what factor the processor time of work grows when its input doubles: from a quarter of `size` to `size`, which are
 * two doublings. The least of several rounds counts, because other work on the machine only ever adds.
 */
export async function measureGrowth<T>({ size, prepare, run }: CostedWork<T>): Promise<number> {
  const [small, large] = [joinTexts(prepare(Math.ceil(size / 4))), joinTexts(prepare(size))];
  const repeats = await chooseRepeats(() => run(small));
  let [leastSmall, leastLarge] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  let growth = Number.POSITIVE_INFINITY;
  for (let round = 0; round < LEAST_ROUNDS || (round < MOST_ROUNDS && growth >= MAX_GROWTH); round++) {
    leastSmall = Math.min(leastSmall, await measureCpu(repeats, () => run(small)));
    leastLarge = Math.min(leastLarge, await measureCpu(repeats, () => run(large)));
    growth = Math.sqrt(leastLarge / leastSmall);
  }
  return growth;
}

/**
 * The input with its texts in one piece, as JSON brings them. `repeat` and `+` leave pieces in a tree until V8 joins them,
 * and `Buffer.byteLength` of a text in pieces takes six times as long or more: the growth would tell when V8 did so.
 */
function joinTexts<T>(input: T): T {
  const root = { input };
  const [left, seen] = [[root as Record<string, unknown>], new Set<unknown>()];
  for (let holder = left.pop(); holder !== undefined; holder = left.pop()) {
    for (const [name, value] of Object.entries(holder)) {
      if (typeof value === 'string') {
        Reflect.set(holder, name, JSON.parse(JSON.stringify(value))); // does nothing where the holder is frozen
      } else if (typeof value === 'object' && value !== null && !seen.has(value)) {
        seen.add(value);
        left.push(value as Record<string, unknown>);
      }
    }
  }
  return root.input;
}

/** Milliseconds of processor time that this process spends on repeated work. */
export async function measureCpu(repeats: number, run: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  for (let repeat = 0; repeat < repeats; repeat++) {
    const result = run();
    if (result instanceof Promise) await result;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The first samples are of code that V8 has not optimised yet, and take longer. */
const SAMPLES = 3;

/** Also warms the work up, so that its compilation is not measured. */
async function chooseRepeats(run: () => unknown): Promise<number> {
  for (let repeats = 1; ; repeats *= 2) {
    let least = Number.POSITIVE_INFINITY;
    for (let sample = 0; sample < SAMPLES; sample++) least = Math.min(least, await measureCpu(repeats, run));
    if (least >= LEAST_SAMPLE_MS || repeats >= MAX_REPEATS) return repeats;
  }
}
export { listHostile, listHostileKeys } from './hostile.js';
export { skip } from './skip.js';
export { itDeep, parseShare, readShare, sampleCases, sampleRuns, type Share, takeShare, type Tier } from './tier.js';
