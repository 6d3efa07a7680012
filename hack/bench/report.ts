import type { Ratio } from './rounds.js';

/** One line of the table: what was measured, against what, and what it must not fall below or rise above. */
export interface BenchResult {
  readonly workload: string;
  readonly what: string;
  readonly ratio: Ratio;
  readonly floor: number;
  readonly target: number;
  /** Whether a larger ratio is better. */
  readonly larger: boolean;
  /** Absolute figures of this run, for the log: never to be compared with another run's. */
  readonly figures: string;
}

const shown = (value: number) => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

/** Whether the ratio keeps its floor. */
export function isFloorKept({ ratio, floor, larger }: BenchResult): boolean {
  return larger ? ratio.median >= floor : ratio.median <= floor;
}

/** Prints the table; true when every floor is kept. */
export function printResults(findings: readonly BenchResult[]): boolean {
  console.log('');
  for (const finding of findings) {
    const { workload, what, ratio, floor, target, larger, figures } = finding;
    const sign = larger ? '≥' : '≤';
    console.log(
      `${isFloorKept(finding) ? 'ok    ' : 'FAILED'} ${workload.padEnd(4)} ${shown(ratio.median).padStart(6)}  ` +
        `(${shown(ratio.low)}–${shown(ratio.high)}; floor ${sign} ${floor}, target ${sign} ${target})  ${what}`,
    );
    console.log(`                ${figures}`);
  }
  const failed = findings.filter(finding => !isFloorKept(finding)).length;
  console.log(`${findings.length - failed} passed, ${failed} failed`);
  return failed === 0;
}
