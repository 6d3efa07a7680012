/** What was measured at one moment. */
export interface MemorySample {
  /** Since the beginning. */
  readonly atMs: number;
  readonly megabytes: Readonly<Record<string, number>>;
}

/** How one process has grown. */
export interface GrowthVerdict {
  readonly name: string;
  readonly isBroken: boolean;
  /** For people. */
  readonly line: string;
}

const MAX_GROWTH = 1.1;

/**
 * Compares the end with what it was when memory had settled, each as the least of a window: between two collections of
 * garbage the resident memory says little.
 */
export function judgeGrowth(samples: readonly MemorySample[], settledMs: number): readonly GrowthVerdict[] {
  const lastMs = samples.at(-1)?.atMs ?? 0;
  const windowMs = settledMs / 2;
  const early = samples.filter(({ atMs }) => atMs >= settledMs && atMs < settledMs + windowMs);
  const late = samples.filter(({ atMs }) => atMs >= lastMs - windowMs);
  return Object.keys(samples[0]?.megabytes ?? {}).map(name => {
    const [before, after] = [early, late].map(some => Math.min(...some.map(({ megabytes }) => megabytes[name]!))) as [
      number,
      number,
    ];
    const growth = after / before;
    return {
      name,
      isBroken: !(before > 0 && after > 0 && growth <= MAX_GROWTH), // what is not there has no size
      line: `${before.toFixed(1)} → ${after.toFixed(1)} MB (${growth.toFixed(2)}-fold)`,
    };
  });
}
