import { expect } from 'chai';

import { type Outcome, runScenario } from './scenario.js';

const SEEDS = Number(process.env['MOORING_SEEDS'] ?? 500);
const FIRST = Number(process.env['MOORING_FIRST_SEED'] ?? 1);

describe('the whole system in a simulated world', () => {
  it(`keeps every promise for ${SEEDS} seeds`, async function () {
    this.timeout(SEEDS * 5_000);
    const outcomes: Outcome[] = [];
    for (let seed = FIRST; seed < FIRST + SEEDS; seed++) outcomes.push(await runScenario(seed));

    const slowest = Math.max(...outcomes.map(({ convergedAfterMs }) => convergedAfterMs));
    const steps = outcomes.reduce((sum, outcome) => sum + outcome.steps, 0);
    console.log(`      ${SEEDS} seeds, ${steps} steps, all as asked after at most ${slowest / 1000} s of quiet`);
    const givenUp = outcomes.reduce((sum, outcome) => sum + outcome.givenUp, 0);
    const doubled = Math.max(...outcomes.map(({ doubledMs }) => doubledMs));
    console.log(
      `      ${givenUp} replicas given up with their nodes; two of a slot for at most ${(doubled / 1000).toFixed(1)} s`,
    );
    expect(givenUp, 'no node was lost').to.be.greaterThan(SEEDS > 10 ? 0 : -1);
  });

  it('takes the same steps for the same seed', async function () {
    this.timeout(20_000);
    const [first, again, other] = [await runScenario(7), await runScenario(7), await runScenario(8)];

    expect(again).to.deep.equal(first);
    expect(other.hash).to.not.equal(first.hash);
  });
});
