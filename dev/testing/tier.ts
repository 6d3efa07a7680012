/** What a change must pass, and everything else. */
export type Tier = 'quick' | 'deep';

/** `make test` does with a part of what is long; `make test-deep`, and a file that is run by itself, does all. */
const isQuick = process.env['MOORING_TIER'] === 'quick';

/** Of a long table the cases that `make test` runs: every n-th, the first among them. */
export function sampleCases<T>(oneIn: number, cases: readonly T[]): readonly T[] {
  return isQuick ? cases.filter((_, at) => at % oneIn === 0) : cases;
}

/** How many cases of a costly property `make test` makes: the n-th part. */
export function sampleRuns(oneIn: number, runs: number): number {
  return isQuick ? Math.ceil(runs / oneIn) : runs;
}

/** A part of the deep tier: the second of two is `{ at: 1, of: 2 }`. */
export interface Share {
  readonly at: number;
  readonly of: number;
}

/** What a text like `2/3` says; undefined where it is no share. */
export function parseShare(text: string): Share | undefined {
  const [, at = 0, of = 0] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  return at < 1 || at > of ? undefined : { at: at - 1, of };
}

/** The share that is run: all, where nothing is said. */
export function readShare(): Share {
  return parseShare(process.env['MOORING_SHARE'] ?? '') ?? { at: 0, of: 1 };
}

/** Those of many that are in a share: every n-th. */
export function takeShare<T>(all: readonly T[], { at, of }: Share): readonly T[] {
  return all.filter((_, number) => number % of === at);
}

/** `it`, for a case that `make test` leaves to `make test-deep`. */
export function itDeep(title: string, run: Mocha.AsyncFunc | (() => void)): void {
  if (!isQuick) it(title, run);
}
