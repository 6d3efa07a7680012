import { readFileSync } from 'node:fs';

/** What became of tests. Skipped and failed ones are named: the end of the log says all, and a skip never counts as passed. */
export interface Counts {
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

/** The counts that the runner of some tests has left in a file. One that died before it could count is a failure, whatever it printed. */
export function readCounts(file: string, { status, tests }: { status: number | null; tests: string }): Counts {
  try {
    const counts = JSON.parse(readFileSync(file, 'utf8')) as Counts;
    if (status === 0 || counts.failed.length > 0) return counts;
    return { ...counts, failed: [`${tests}: the runner ended with status ${status}, though no test failed`] };
  } catch {
    return {
      passed: 0,
      failed: [`${tests}: the runner ended with status ${status} before it could count`],
      skipped: [],
    };
  }
}

export function sum(all: readonly Counts[]): Counts {
  return {
    passed: all.reduce((so, { passed }) => so + passed, 0),
    failed: all.flatMap(({ failed }) => failed),
    skipped: all.flatMap(({ skipped }) => skipped),
  };
}
