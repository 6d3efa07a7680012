import { expect } from 'chai';

import { mutants } from './mutants.js';
import { BrokenPromiseError, runScenario } from './scenario.js';

const WITHIN_SEEDS = 250;

describe('the simulation notices', () => {
  for (const { mistake, ...variant } of mutants) {
    it(`when ${mistake}`, async () => {
      let caught: unknown;
      for (let seed = 1; seed <= WITHIN_SEEDS && !caught; seed++) {
        caught = await runScenario(seed, variant).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
      }
      expect(caught, `not noticed within ${WITHIN_SEEDS} seeds`).to.be.instanceOf(BrokenPromiseError);
      console.log(`      ${(caught as BrokenPromiseError).message.slice(0, 120)}`);
    });
  }
});
