import { readFileSync } from 'node:fs';

/** What became of tests. Skipped ones are named, never counted as passed. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

/** The counts that a runner has left in a file. One that died before it could count is a failure, whatever it printed. */
export function readCounts(file: string, status: number | null): Counts {
  try {
    const counts = JSON.parse(readFileSync(file, 'utf8')) as Counts;
    return status === 0 ? counts : { ...counts, failed: Math.max(1, counts.failed) };
  } catch {
    return { passed: 0, failed: 1, skipped: [] };
  }
}

export function sum(all: readonly Counts[]): Counts {
  const total = (pick: (counts: Counts) => number) => all.reduce((so, counts) => so + pick(counts), 0);
  return {
    passed: total(({ passed }) => passed),
    failed: total(({ failed }) => failed),
    skipped: all.flatMap(({ skipped }) => skipped),
  };
}
