/** What became of tests. Skipped and failed ones are named: the end of the log says all, and a skip never counts as passed. */
export interface Counts {
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

/** What files took: seconds one after the other, though several run side by side, and seconds of processors, 0 where they were not measured. */
export interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export interface SuiteResult {
  readonly name: string;
  readonly counts: Counts;
  readonly cost: Cost;
}

/** What the runner has left: counts by file of tests as it was run, and lines of what each took. */
export interface RunnerReport {
  /** Undefined when the runner died before it could count. */
  readonly counts: Readonly<Record<string, Counts>> | undefined;
  readonly costs: readonly ({ readonly file: string } & Cost)[];
  readonly status: number | null;
}

export const NOTHING: Counts = { passed: 0, failed: [], skipped: [] };

export function sumCounts(all: readonly Counts[]): Counts {
  return {
    passed: all.reduce((so, { passed }) => so + passed, 0),
    failed: all.flatMap(({ failed }) => failed),
    skipped: all.flatMap(({ skipped }) => skipped),
  };
}

function sumCosts(all: readonly Cost[]): Cost {
  return {
    seconds: all.reduce((so, { seconds }) => so + seconds, 0),
    cpuSeconds: all.reduce((so, { cpuSeconds }) => so + cpuSeconds, 0),
  };
}

/** What became of the files of one suite. A file of which nothing was told is a failure: a test that did not run has not passed. */
export function judgeSuite(name: string, files: readonly string[], { counts = {}, costs }: RunnerReport): SuiteResult {
  const told = files.map(file => counts[file] ?? { ...NOTHING, failed: [`${file}: no test of it has ended`] });
  return { name, counts: sumCounts(told), cost: sumCosts(costs.filter(({ file }) => files.includes(file))) };
}

/** What the runner says beside the files: failures of none of them, and an end that no failure explains. */
export function judgeRunner(files: readonly string[], { counts = {}, status }: RunnerReport): Counts {
  const others = Object.keys(counts).filter(file => !files.includes(file));
  const own = sumCounts(others.map(file => counts[file]!));
  const isExplained = Object.values(counts).some(({ failed }) => failed.length > 0) || status === 0;
  const end = isExplained ? [] : [`the runner ended with status ${status}, though no test failed`];
  return { ...own, failed: [...own.failed, ...end] };
}

/** One line a suite, the names of what was skipped and of what failed, and at last the line of counts. */
export function renderResults(results: readonly SuiteResult[]): string {
  const lines = results.map(({ name, counts: { passed, failed, skipped }, cost }) => {
    const found = `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`;
    const cpu = cost.cpuSeconds > 0 ? `, ${cost.cpuSeconds.toFixed(0)} s of processors` : '';
    return `${name.padEnd(12)} ${found}  (${cost.seconds.toFixed(0)} s${cpu})`;
  });
  const { passed, failed, skipped } = sumCounts(results.map(({ counts }) => counts));
  return [
    ...lines,
    ...skipped.map(reason => `skipped: ${reason}`),
    ...failed.map(test => `failed: ${test}`),
    `${passed} passed, ${failed.length} failed, ${skipped.length} skipped`,
  ].join('\n');
}
