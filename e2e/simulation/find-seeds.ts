/** `make seeds`: looks for the seed at which each planted mistake shows with the fewest steps, and writes them into `noticed.ts`. */
import { writeFileSync } from 'node:fs';

import type { Mutant } from './mutants.js';
import { type Noticed, noticed } from './noticed.js';
import { allMutants, findBroken, SEEDS, SOON_SEEDS, whereNoticed } from './worlds.js';

const FEW_STEPS = 5_000;
/** So many worlds are played for a mistake that shows late wherever it shows. */
const MOST_WORLDS = 6;

async function find(mutant: Mutant): Promise<Noticed> {
  let [best, worlds]: [Noticed | undefined, number] = [undefined, 0];
  for (const seed of new Set([whereNoticed(mutant).seed, ...SOON_SEEDS, ...SEEDS])) {
    if (best && (best.steps <= FEW_STEPS || worlds >= MOST_WORLDS)) break;
    worlds++;
    const { steps } = (await findBroken(mutant, seed)) ?? {};
    if (steps && steps < (best?.steps ?? Infinity)) best = { seed, steps };
  }
  if (!best) throw new Error(`not noticed within ${SEEDS.length} seeds: ${mutant.mistake}`);
  return best;
}

const lines: string[] = [];
for (const mutant of allMutants) {
  const { seed, steps } = await find(mutant);
  const before = noticed[mutant.mistake];
  console.log(
    `${mutant.mistake}: seed ${seed}, ${steps} steps${before ? ` (seed ${before.seed}, ${before.steps} steps)` : ''}`,
  );
  lines.push(`  ${JSON.stringify(mutant.mistake)}: { seed: ${seed}, steps: ${steps} },`);
}
writeFileSync(
  'e2e/simulation/noticed.ts',
  `/** Written by \`make seeds\`: where each planted mistake showed with the fewest steps. What happens at a seed changes with the product. */
export interface Noticed {
  readonly seed: number;
  readonly steps: number;
}

export const noticed: Readonly<Record<string, Noticed>> = {
${lines.join('\n')}
};
`,
);
