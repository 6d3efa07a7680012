import { expect } from 'chai';

import { reachedPoints } from './failpoints.js';
import { readShare } from '../../dev/testing/index.js';
import type { Outcome } from './scenario.js';
import { playSeeds } from './seeds.js';

/** So many worlds pass every failpoint, and each has been armed in many of them: `make simulation` plays as many. */
const ENOUGH = 500;
/** Few requests come so far: most die at an earlier point of theirs. The story of secrets kills there. */
const LAST_OF_REQUEST = 'material.settled';
/** Every mix five times over in the whole of the deep tier. */
const share = readShare();
const ALL_SEEDS = 160;
const [begin, end] = [share.at, share.at + 1].map(at => Math.floor((at * ALL_SEEDS) / share.of)) as [number, number];
const SEEDS = Number(process.env['MOORING_SEEDS'] ?? end - begin);
const FIRST = Number(process.env['MOORING_FIRST_SEED'] ?? begin + 1);

describe('the whole system in a simulated world', () => {
  it(`keeps every promise for ${SEEDS} seeds`, async function () {
    this.timeout(60_000 + SEEDS * 20_000);
    const outcomes = await playSeeds(FIRST, SEEDS);

    const most = (of: (outcome: Outcome) => number) => (Math.max(...outcomes.map(of)) / 1000).toFixed(1);
    const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((all, outcome) => all + of(outcome), 0);
    const [givenUp, enrolled] = [sum(each => each.givenUp), sum(each => each.enrolled)];
    const delivered = sum(each => each.delivered);
    const [canaries, aborted] = [sum(each => each.canaries), sum(each => each.aborted)];
    const scaled = sum(each => each.scaled);
    const written = sum(each => each.writtenVolumes);
    for (const line of [
      `${SEEDS} seeds, ${sum(({ steps }) => steps)} steps`,
      `all as asked after at most ${most(({ convergedAfterMs }) => convergedAfterMs)} s of quiet`,
      `${givenUp} replicas given up with their nodes; two of a slot for at most ${most(({ doubledMs }) => doubledMs)} s`,
      `${enrolled} nodes of ${3 * SEEDS} machines; secrets handed out ${delivered} times`,
      `${canaries} canaries, of which ${aborted} were taken back; load moved ${scaled} times; ${written} volumes written to`,
    ])
      console.log(`      ${line}`);
    const killed = new Set(outcomes.flatMap(each => each.killed));
    const passed = new Set(outcomes.flatMap(each => each.passed));
    console.log(`      processes killed at ${killed.size} of ${reachedPoints.length} failpoints`);
    if (SEEDS < 10) return;
    if (SEEDS >= ENOUGH) {
      const missing = (seen: ReadonlySet<string>) => reachedPoints.filter(name => !seen.has(name));
      expect(missing(passed), 'failpoints that no process passed').to.deep.equal([]);
      const spared = missing(killed).filter(name => name !== LAST_OF_REQUEST);
      expect(spared, 'failpoints at which no process was killed').to.deep.equal([]);
    }
    expect(givenUp, 'no node was lost').to.be.greaterThan(0);
    expect(enrolled, 'no machine changed hands').to.be.greaterThan(3 * SEEDS);
    expect(delivered, 'nobody was given a secret').to.be.greaterThan(0);
    expect(scaled, 'load moved nothing').to.be.greaterThan(0);
    expect(written, 'no volume was written to').to.be.greaterThan(0);
    expect(aborted, 'no canary was taken back').to.be.greaterThan(0);
    expect(canaries, 'every canary was taken back').to.be.greaterThan(aborted);
  });
});
