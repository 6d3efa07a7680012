/** `make seeds`: looks for the seed at which each planted mistake shows in the fewest steps, and writes them down. */
import { writeFileSync } from 'node:fs';

import type { Mutant } from './mutants.js';
import { allMutants, findBroken, NOTICED, type Notice, SEEDS, SOON_SEEDS, whereNoticed } from './worlds.js';

const FEW_STEPS = 5_000;
/** So many worlds are played for a mistake that shows late wherever it shows. */
const MOST_WORLDS = 6;

async function find(mutant: Mutant): Promise<Notice> {
  let [best, worlds]: [Notice | undefined, number] = [undefined, 0];
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
  const { seed: before } = whereNoticed(mutant);
  console.log(`${mutant.mistake}: seed ${seed}, ${steps} steps${before === seed ? '' : ` (at seed ${before} before)`}`);
  lines.push(`  ${JSON.stringify(mutant.mistake)}: { "seed": ${seed}, "steps": ${steps} }`);
}
writeFileSync(NOTICED, `{\n${lines.join(',\n')}\n}\n`);
