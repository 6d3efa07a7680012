import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { median } from './rounds.js';

/** How much worse a figure may be than in the other checkout. */
const TOLERANCE = 0.05;

/** One figure of one run: the first number below a line of the table. */
interface Figure {
  readonly workload: string;
  readonly what: string;
  readonly isLargerBetter: boolean;
  readonly value: number;
}

const RESULT = /^(?:ok|FAILED) +(\S+) .*?; floor (≥|≤) [^)]*\) +(.*)$/;

/** Reads the table that `make bench` prints. It has looked the same since before the oldest commit worth comparing with. */
export function parseFigures(output: string): readonly Figure[] {
  const lines = output.split('\n');
  return lines.flatMap((line, at) => {
    const [, workload, sign, what] = RESULT.exec(line) ?? [];
    const [number] = /[\d.]+/.exec(lines[at + 1] ?? '') ?? [];
    if (!workload || !what || number === undefined) return [];
    return [{ workload, what, isLargerBetter: sign === '≥', value: Number(number) }];
  });
}

/** Whether a checkout measures what it computes itself as it stands, not compiled: that is slower, most of all where functions are made often. */
function measuresFromSource(checkout: string): boolean {
  return readFileSync(join(checkout, 'Makefile'), 'utf8').includes('tsx hack/bench/main.ts');
}

/** Measures every workload once in a checkout, with the checkout's own code. */
function measure(checkout: string, workloads: readonly string[]): readonly Figure[] {
  const program = measuresFromSource(checkout)
    ? ['--import', 'tsx', 'hack/bench/main.ts']
    : ['dist/hack/bench/main.js'];
  const { stdout } = spawnSync(process.execPath, [...program, ...workloads], {
    cwd: checkout,
    env: { ...process.env, ROUNDS: '1', AGAINST: '' },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return parseFigures(stdout);
}

/**
 * Measures this checkout and another one in turns, and prints each figure as new over old. False when the median of one
 * is more than 5 % worse. Figures are matched by their place among those of their workload: wording may have changed.
 */
export function compareWith(checkout: string, workloads: readonly string[], rounds: number): boolean {
  if (measuresFromSource(checkout)) {
    console.log(`${checkout} measures W3, W8, W9 and W17 from source, which this one does not: they say less about it`);
  }
  const runs = Array.from({ length: rounds }, (_, round) => {
    console.log(`round ${round + 1} of ${rounds}`);
    const order = round % 2 === 0 ? ['.', checkout] : [checkout, '.']; // a machine that grows warm slows both alike
    const figures = Object.fromEntries(order.map(at => [at, measure(at, workloads)]));
    return { ours: figures['.']!, theirs: figures[checkout]! };
  });
  const results = runs[0]!.ours.map(({ workload, what, isLargerBetter }, at) => {
    const ratios = runs.map(({ ours, theirs }) => ours[at]!.value / (theirs[at]?.value ?? Number.NaN));
    const middle = median(ratios);
    const isKept = isLargerBetter ? middle >= 1 - TOLERANCE : middle <= 1 + TOLERANCE;
    const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
    const better = isLargerBetter ? 'larger' : 'smaller';
    console.log(
      `${isKept ? 'ok    ' : 'WORSE '} ${workload.padEnd(4)} ${middle.toFixed(2)} (${range}; ${better} is better)  ${what}`,
    );
    return isKept;
  });
  return results.length > 0 && results.every(Boolean);
}
