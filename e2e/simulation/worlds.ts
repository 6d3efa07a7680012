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

const WITHIN_SEEDS = 250;
const SEEDS = Array.from({ length: WITHIN_SEEDS }, (_, at) => at + 1);
/** `make test` looks no further: where the product has moved a mistake to a later seed, the deep tier finds it. */
const SOON_SEEDS = SEEDS.slice(0, 12);

const all: readonly Mutant[] = [
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

/** The worlds in which every planted mistake was noticed. */
export const worlds: readonly World[] = groupByWorld();

function groupByWorld(): readonly World[] {
  const found = new Map<string, World>();
  for (const mutant of all) {
    const { noticedAt: seed = 1, pace = {} } = mutant;
    const key = `${seed} ${JSON.stringify(pace)}`;
    found.set(key, { seed, pace, mutants: [...(found.get(key)?.mutants ?? []), mutant] });
  }
  return [...found.values()];
}

/** Those that notice most: `make test` plays them as they are. */
const isCore = (world: World) => world.mutants.length > 4;

/** What `make test` looks for: most mistakes show soon. */
const isSoon = ({ isDeep = false }: Mutant) => !isDeep;

/** The share of all planted mistakes that `make test` looks for. */
export const soonShare = all.filter(isSoon).length / all.length;

/** That worlds keep every promise as the product is, and break one with each of their mistakes: in one tier what the other leaves out. */
export function describeWorlds(tier: Tier, chosen: readonly World[] = worlds): void {
  const isQuick = tier === 'quick';
  for (const world of chosen) {
    const { seed, pace } = world;
    const planted = world.mutants.filter(mutant => isSoon(mutant) === isQuick);
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

/** What happens at a seed changes with the product: then the mistake is looked for at others, and the run says where it was. */
export async function expectNoticed({ noticedAt = 1, ...variant }: Mutant, seeds: readonly number[]): Promise<void> {
  for (const seed of new Set([noticedAt, ...seeds])) {
    const caught = await runScenario(seed, variant).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (caught === undefined) continue;
    expect(caught).to.be.instanceOf(BrokenPromiseError);
    console.log(`      ${(caught as BrokenPromiseError).message.slice(0, 120)}`);
    if (seed !== noticedAt) console.log(`      would be noticed sooner with noticedAt: ${seed}`);
    return;
  }
  expect.fail(`not noticed within ${seeds.length} seeds`);
}
