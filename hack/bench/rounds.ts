import { untilQuiet } from './quiet.js';

const NOISY_CORES = 0.3;

/** One measured cell: a rate and how long single operations took. */
export interface LoadResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers that were not what was asked for: a variant that fails fast looks fast. */
  readonly failures: number;
}

/** The middle of several rounds, and how far they lay apart. */
export interface Ratio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/** The value below which the share `q` of all lies. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(q * (sorted.length - 1))] ?? Number.NaN;
}

/** Pairs the rounds of ours with the rounds of the peer that ran beside them, A/B/A/B. */
export function ratio(ours: readonly number[], peers: readonly number[]): Ratio {
  const ratios = ours.map((value, round) => value / (peers[round] as number));
  return { median: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) };
}

/** Runs the cells of one workload in turn, so that whatever disturbs the machine disturbs all of them. */
export async function interleave<Name extends string, Result>(
  rounds: number,
  cells: Readonly<Record<Name, () => Promise<Result>>>,
): Promise<Record<Name, Result[]>> {
  const names = Object.keys(cells) as Name[];
  const results = Object.fromEntries(names.map(name => [name, [] as Result[]])) as Record<Name, Result[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const busy = await untilQuiet();
      if (busy >= NOISY_CORES) console.log(`noisy: ${busy.toFixed(1)} cores were at work before ${name}`);
      results[name].push(await cells[name]());
    }
  }
  return results;
}
