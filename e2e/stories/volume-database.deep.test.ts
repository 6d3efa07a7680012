import { setTimeout as pause } from 'node:timers/promises';

import { expect } from 'chai';

import { skip } from '../../dev/testing/index.js';
import { explainNoBtrfs } from '../../pkg/agent/volumes/open-driver.js';
import { seededRandom } from '../../pkg/clock/index.js';
import { DatabaseLab } from '../lab/database-lab.js';
import { noPostgres } from '../lab/postgres.js';
import { isCopiedTo } from '../lab/volume-client.js';

/** How often each story is told. Told more than once, every other time nobody says that a machine is off: the platform has to find out. */
const RUNS = Number(process.env['MOORING_DATABASE_RUNS'] ?? 1);
const SEED = Number(process.env['MOORING_DATABASE_SEED'] ?? process.env['MOORING_PROPERTY_SEED'] ?? Date.now());
/** A sync and more. */
const LONGEST_MS = 6_000;
/** What is set aside with each loss takes room. */
const SMALL = (RUNS > 1 ? 768 : 256) * 2 ** 20;
const LARGE = SMALL + 64 * 2 ** 20;

const SYNC_POINTS = [
  { whose: 'primary', point: 'volume.snapshot_taken' },
  { whose: 'primary', point: 'volume.sending' },
  { whose: 'copy', point: 'volume.received' },
  { whose: 'copy', point: 'volume.accepted' },
  { whose: 'copy', point: 'volume.synced' },
] as const;
const PROMOTION_POINTS = ['volume.promoting', 'volume.swapping', 'volume.copy_promoted'] as const;
const GROWTH_POINTS = ['volume.resizing', 'volume.image_grown', 'volume.resized'] as const;
const SHRINK_POINTS = ['volume.resizing', 'volume.shrunk', 'volume.resized'] as const;

const because = noPostgres ?? (await explainNoBtrfs());

/** What a lost machine came to, in seconds. */
interface Outage {
  readonly until: number;
  readonly missing: number;
}

function describeOutages(outages: readonly Outage[]): string {
  const describe = (values: readonly number[]) => {
    const sorted = values.toSorted((a, b) => a - b);
    const [least, median, most] = [0, Math.floor(sorted.length / 2), sorted.length - 1].map(at =>
      sorted[at]!.toFixed(1),
    );
    return `median ${median} s, ${least} to ${most} s`;
  };
  const [served, missing] = [outages.map(each => each.until), outages.map(each => each.missing)].map(describe);
  return `lost ${outages.length} times with nobody to say so: it served again after ${served}; missing were ${missing}`;
}

describe('a database on a replicated volume', () => {
  const random = seededRandom(SEED);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random.next() * all.length)]!;
  const untold: Outage[] = [];
  let lab: DatabaseLab;

  before(async function () {
    if (because !== undefined) skip(this, because);
    lab = await DatabaseLab.start(SMALL);
  });
  after(async () => {
    await lab?.stop();
    if (untold.length > 0) console.log(`      ${describeOutages(untold)}`);
  });

  /** Some moment after the copy was brought up to date. */
  const wait = async (): Promise<string> => {
    const forMs = Math.round(random.next() * LONGEST_MS);
    await lab.copies();
    await pause(forMs);
    return `${forMs} ms after a copy`;
  };

  interface Mishap {
    /** When the machine is lost, and at what the agent of the copy dies, if it does. */
    readonly when: string;
    /** Nobody says that the machine is off. */
    readonly isUntold: boolean;
    /** The agent of the copy is dead too, and started when the machine is lost. */
    readonly isCopyDead?: boolean;
    readonly takingOver?: (typeof PROMOTION_POINTS)[number];
  }

  /** Loses the machine of the primary, and looks at everything that must be so after it, until the machine is back. */
  const survive = async ({ when, isUntold, isCopyDead, takingOver }: Mishap): Promise<void> => {
    const begun = Date.now();
    const loss = await lab.lose();
    const { stored, endedAt, offAt } = loss;
    if (isCopyDead) lab.copy.agent.start();
    if (!isUntold) await lab.declareOff();
    if (takingOver !== undefined) {
      await lab.copy.agent.died(takingOver, 240_000);
      lab.copy.agent.start();
    }
    const promotion = await lab.takesOver();
    const opening = await lab.opens();
    const copiedAt = Math.max(loss.copiedAt, Date.parse(promotion.syncedAt));
    const promised = stored.findLast(({ at }) => at < copiedAt);
    const missing = stored.filter(({ n }) => n > opening.last);
    const oldest = missing[0] ? (endedAt - missing[0].at) / 1000 : 0;
    const outcome = `seed ${SEED}, lost ${when}: ${stored.length} acknowledged, ${missing.length} missing, the oldest ${oldest.toFixed(1)} s before the end, at most ${promotion.secondsLost} s told, ended after ${endedAt - begun} ms, off after ${offAt - begun} ms, served again ${opening.servesAt - endedAt} ms after the end`;
    console.log(`      ${outcome}`);
    if (isUntold) untold.push({ until: (opening.servesAt - endedAt) / 1000, missing: oldest });

    expect(opening, outcome).to.include({ integrity: 'ok', broken: 0, count: opening.last });
    expect(promised, outcome).not.to.equal(undefined);
    expect(opening.last, outcome).to.be.at.least(promised!.n);
    expect(await lab.holds(promised!), `record ${promised!.n}, ${outcome}`).to.equal(true);
    // What is told is true: what is missing is no older than that.
    expect(promotion.secondsLost, outcome).to.be.at.least(oldest);

    await lab.returns();
    expect(await lab.countWriters(), outcome).to.equal(1);
    const last = stored.at(-1)!;
    const kept = await lab.askSetAside(last.n);
    if (missing.length > 0 || kept !== undefined) expect(kept, outcome).to.equal(last.sum);
  };

  for (let run = 1; run <= RUNS; run++) {
    const isUntold = run % 2 === 0;
    const name = RUNS === 1 ? '' : ` (${run} of ${RUNS})`;

    /** Every record that was acknowledged is there, nothing was set aside, and one writes. */
    const lacksNothing = async ({ stored, printed }: Awaited<ReturnType<DatabaseLab['moves']>>): Promise<void> => {
      const opening = await lab.opens();
      const last = stored.at(-1)!;
      const { lastMove, divergent } = await lab.volume.find();
      const outcome = `moved to ${lab.primary.name}: ${stored.length} acknowledged before, none missing, nothing could use it for ${lastMove?.downtimeSeconds} s`;
      expect(opening, printed).to.include({ integrity: 'ok', broken: 0, count: opening.last });
      expect(opening.last, printed).to.be.at.least(last.n);
      expect(await lab.holds(last), `record ${last.n}`).to.equal(true);
      expect(divergent.filter(({ epoch }) => epoch === lab.epoch - 1)).to.deep.equal([]);
      expect(await lab.countWriters()).to.equal(1);
      console.log(`      ${outcome}`);
    };

    it(`has every acknowledged record after a planned move and after a drain${name}`, async () => {
      const moved = await lab.moves('volume', 'move', 'data', '--to', lab.copy.name);
      await lacksNothing(moved);
      expect(moved.printed).to.match(
        /Stopping: what mounts it is stopped on [^]*moved: .*nothing could use it for \d+ s/,
      );
      await lab.volume.becomes('copied again', volume => isCopiedTo(volume, lab.copy.name));
      await lab.arm(lab.primary, 'volume.final_taken');
      const drained = lab.moves('nodes', 'drain', lab.primary.name, '--wait');
      await lab.primary.agent.died('volume.final_taken', 240_000);
      lab.primary.agent.start();
      await lacksNothing(await drained);
      await lab.undrains();
    });

    /** To the other size: the agent of the primary dies on the way, and is not started again. */
    const diesResizing = async () => {
      const { capacityBytes } = await lab.volume.find();
      const [size, points] = capacityBytes === SMALL ? [LARGE, GROWTH_POINTS] : [SMALL, SHRINK_POINTS];
      const point = pick(points);
      await lab.dies(lab.primary, point, () => lab.resize(size));
      return { point, size, from: capacityBytes };
    };
    const isResized = (size: number, point: string) =>
      lab.volume.becomes(`resized to ${size} after a death at ${point}`, now => {
        return now.phase === 'Ready' && now.capacityBytes === size;
      });

    const resizes = [
      () =>
        it(`goes on writing while its volume is resized and the agent dies meanwhile${name}`, async () => {
          const writer = await lab.writesOn();
          const { point, size, from } = await diesResizing();
          expect(await lab.writesOn()).to.equal(writer);
          lab.primary.agent.start();
          await isResized(size, point);
          expect(await lab.writesOn()).to.equal(writer);
          console.log(`      seed ${SEED}, the agent died at ${point}: ${from} bytes became ${size}`);
        }),
      () =>
        it(`has every record up to the reported lag when its machine is lost in the middle of a resize${name}`, async () => {
          await lab.copies();
          const { point, size } = await diesResizing();
          await survive({ when: `at ${point} on the way to ${size} bytes`, isUntold });
          await isResized(size, point);
          await lab.discards();
        }),
    ];
    // Each of them grows it in one run and shrinks it in the next.
    for (const tell of isUntold ? resizes.toReversed() : resizes) tell();

    it(`[4.20] has every record up to the reported lag when its machine is lost at any moment${name}`, async () => {
      const { capacityBytes } = await lab.volume.find();
      await survive({ when: await wait(), isUntold: true });
      expect((await lab.volume.find()).capacityBytes).to.equal(capacityBytes);
      await lab.discards();
    });

    it(`has every record up to the reported lag when its machine is lost in the middle of a sync${name}`, async () => {
      const { whose, point } = pick(SYNC_POINTS);
      await lab.copies();
      await lab.dies(lab[whose], point);
      await survive({ when: `at ${point} of the ${whose}`, isUntold, isCopyDead: whose === 'copy' });
    });

    it(`is promoted when the agent that takes over dies meanwhile${name}`, async () => {
      const takingOver = pick(PROMOTION_POINTS);
      await lab.arm(lab.copy, takingOver);
      const moment = await wait();
      await survive({ when: `${moment}, ${takingOver} of the new primary`, isUntold, takingOver });
    });
  }
});
