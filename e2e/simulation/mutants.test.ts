import { expect } from 'chai';

import { copyMutants } from './copy-mutants.js';
import { crashMutants } from './crash-mutants.js';
import { jobMutants } from './job-mutants.js';
import { mutants } from './mutants.js';
import { rolloutMutants } from './rollout-mutants.js';
import { scalingMutants } from './scaling-mutants.js';
import { scheduleMutants } from './schedule-mutants.js';
import { BrokenPromiseError, runScenario } from './scenario.js';
import { volumeMutants } from './volume-mutants.js';

const WITHIN_SEEDS = 250;

describe('the simulation notices', () => {
  const seeds = Array.from({ length: WITHIN_SEEDS }, (_, at) => at + 1);
  const ofRunning = [
    ...jobMutants,
    ...scheduleMutants,
    ...rolloutMutants,
    ...scalingMutants,
    ...volumeMutants,
    ...copyMutants,
  ];
  const all = [...mutants, ...ofRunning, ...crashMutants];
  for (const { mistake, noticedAt, ...variant } of all) {
    it(`when ${mistake}`, async function () {
      this.timeout(0); // a world that is given up goes on, and would be noticed in the next
      let caught: unknown;
      for (const seed of new Set([noticedAt ?? 1, ...seeds])) {
        if (caught) break;
        caught = await runScenario(seed, variant).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
      }
      expect(caught, `not noticed within ${WITHIN_SEEDS} seeds`).to.be.instanceOf(BrokenPromiseError);
      const { message, seed } = caught as BrokenPromiseError;
      console.log(`      ${message.slice(0, 120)}`);
      if (seed !== (noticedAt ?? 1)) console.log(`      would be noticed sooner with noticedAt: ${seed}`);
    });
  }
});
