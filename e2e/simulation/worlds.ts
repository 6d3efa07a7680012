import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import type { Tier } from '../../dev/testing/index.js';
import { clockMutants } from './clock-mutants.js';
import { copyMutants } from './copy-mutants.js';
import { crashMutants } from './crash-mutants.js';
import { jobMutants } from './job-mutants.js';
import { type Mutant, mutants } from './mutants.js';
import { rolloutMutants } from './rollout-mutants.js';
import { scalingMutants } from './scaling-mutants.js';
import { BrokenPromiseError, runScenario } from './scenario.js';
import { scheduleMutants } from './schedule-mutants.js';
import type { Pace } from './variant.js';
import { volumeMutants } from './volume-mutants.js';

/** Where each planted mistake showed in the fewest steps: `make seeds` writes it, since what happens at a seed changes with the product. */
export const NOTICED = 'e2e/simulation/noticed.json';

export interface Notice {
  readonly seed: number;
  readonly steps: number;
}

const noticed = JSON.parse(readFileSync(NOTICED, 'utf8')) as Readonly<Record<string, Notice>>;

/** Every planted mistake shows within these. */
export const SEEDS = Array.from({ length: 250 }, (_, at) => at + 1);
/** `make test` looks no further: where the product has moved a mistake to a later seed, the deep tier finds it. */
export const SOON_SEEDS = SEEDS.slice(0, 12);

export const allMutants: readonly Mutant[] = [
  ...mutants,
  ...jobMutants,
  ...scheduleMutants,
  ...rolloutMutants,
  ...scalingMutants,
  ...volumeMutants,
  ...copyMutants,
  ...crashMutants,
  ...clockMutants,
];

/** What happens at a seed and a pace, and the planted mistakes that were noticed in it. */
export interface World {
  readonly seed: number;
  readonly pace: Pace;
  readonly mutants: readonly Mutant[];
}

/** One that `make seeds` has not seen yet counts as one that shows late, and is looked for from the first seed on. */
export const whereNoticed = ({ mistake }: Mutant): Notice =>
  noticed[mistake] ?? { seed: 1, steps: Number.MAX_SAFE_INTEGER };

/** The worlds in which every planted mistake was noticed. */
export const worlds: readonly World[] = groupByWorld();

function groupByWorld(): readonly World[] {
  const found = new Map<string, World>();
  for (const mutant of allMutants) {
    const { pace = {} } = mutant;
    const { seed } = whereNoticed(mutant);
    const key = `${seed} ${JSON.stringify(pace)}`;
    found.set(key, { seed, pace, mutants: [...(found.get(key)?.mutants ?? []), mutant] });
  }
  return [...found.values()];
}

/** Those that notice most: `make test` plays them as they are. */
const isCore = (world: World) => world.mutants.length > 4;

/** What `make test` looks for: the two thirds of all mistakes that show in the fewest steps. */
const soonest: ReadonlySet<Mutant> = new Set(
  allMutants
    .toSorted((a, b) => whereNoticed(a).steps - whereNoticed(b).steps)
    .slice(0, Math.ceil((allMutants.length * 2) / 3)),
);

/** That worlds keep every promise as the product is, and break one with each of their mistakes: in one tier what the other leaves out. */
export function describeWorlds(tier: Tier, chosen: readonly World[] = worlds): void {
  const isQuick = tier === 'quick';
  for (const world of chosen) {
    const { seed, pace } = world;
    const planted = world.mutants.filter(mutant => soonest.has(mutant) === isQuick);
    const isPlayed = isCore(world) === isQuick;
    if (planted.length === 0 && !isPlayed) continue;
    const where = [`seed ${seed}`, ...Object.entries(pace).map(([what, much]) => `${what} ${much}`)].join(', ');
    describe(`a simulated world (${where})`, function () {
      this.timeout(0); // a world that is given up goes on, and would be noticed in the next
      if (isPlayed) it('keeps every promise', () => runScenario(seed, { pace }));
      for (const mutant of planted)
        it(`notices when ${mutant.mistake}`, () => expectNoticed(mutant, isQuick ? SOON_SEEDS : SEEDS));
    });
  }
}

/** What happens at a seed changes with the product: then the mistake is looked for at others, and `make seeds` writes down where it is. */
export async function expectNoticed(mutant: Mutant, seeds: readonly number[]): Promise<void> {
  const { seed: known } = whereNoticed(mutant);
  for (const seed of new Set([known, ...seeds])) {
    const broken = await findBroken(mutant, seed);
    if (!broken) continue;
    console.log(`      ${broken.message.slice(0, 120)}`);
    if (seed !== known) console.log(`      noticed at seed ${seed} now, no longer at ${known}: make seeds`);
    return;
  }
  expect.fail(`not noticed within ${seeds.length} seeds`);
}

/** The promise that a world with the mistake breaks. */
export async function findBroken(mutant: Mutant, seed: number): Promise<BrokenPromiseError | undefined> {
  try {
    await runScenario(seed, mutant);
    return undefined;
  } catch (thrown) {
    expect(thrown).to.be.instanceOf(BrokenPromiseError);
    return thrown as BrokenPromiseError;
  }
}
