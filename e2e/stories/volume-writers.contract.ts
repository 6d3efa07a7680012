import { expect } from 'chai';

import { skip } from '../../dev/testing/index.js';
import { explainNoBtrfs } from '../../pkg/agent/volumes/open-driver.js';
import type { FaultyMachine } from '../lab/faulty-machine.js';
import type { PromotionData } from '../lab/volume-client.js';
import { findOverlaps, type WriterLife } from '../lab/writer-acks.js';
import { type Driver, readUptime, TAKEOVER_MS, toUptime, WritersLab } from '../lab/writers-lab.js';

/** How often each way is tried with each driver. In the deep tier, each way is tried once with one of them. */
const RUNS = Number(process.env['MOORING_WRITERS_RUNS'] ?? 0);
/** What the clock of containers leaves out. */
const TICK_MS = 10;

/** A way to lose the machine of the primary, and how it is as before. */
interface Way {
  readonly name: string;
  readonly strike: (primary: FaultyMachine, lab: WritersLab) => Promise<void> | void;
  readonly heal: (former: FaultyMachine) => Promise<void> | void;
  /** A copy takes over by itself, waits until the machine is said to be off, or is not needed. */
  readonly outcome: 'takes over' | 'waits' | 'goes on';
  /** It goes on at the same moment as its fencer, and may acknowledge what it had in its hands before it is killed; that is set aside. */
  readonly goesOnLater?: true;
}

const WAYS: readonly Way[] = [
  {
    name: 'the agent is stopped by order',
    strike: primary => primary.stopAgent(),
    heal: former => former.startAgent(),
    outcome: 'waits',
  },
  {
    name: 'the agent is killed',
    strike: primary => primary.killAgent(),
    heal: former => former.startAgent(),
    outcome: 'takes over',
  },
  {
    name: 'the engine hangs',
    strike: primary => primary.hangEngine(),
    heal: former => former.resumeEngine(),
    outcome: 'goes on',
  },
  {
    name: 'the agent stands still',
    strike: primary => primary.pauseAgent(),
    heal: former => former.resumeAgent(),
    outcome: 'takes over',
  },
  {
    name: 'the machine stands still',
    strike: primary => primary.freeze(),
    heal: former => former.thaw(),
    outcome: 'takes over',
    goesOnLater: true,
  },
  {
    name: 'the network is cut',
    strike: (primary, lab) => primary.cutNetwork(lab.copy),
    heal: former => former.healNetwork(),
    outcome: 'takes over',
  },
  {
    name: 'the network is cut and the engine hangs',
    strike: (primary, lab) => {
      primary.cutNetwork(lab.copy);
      primary.hangEngine();
    },
    heal: former => {
      former.resumeEngine();
      former.healNetwork();
    },
    outcome: 'takes over',
  },
  {
    name: 'the state folder cannot be written, and the agent is killed',
    strike: async (primary, lab) => {
      primary.protectStateFolder();
      await lab.promisesNothing();
      await primary.killAgent();
    },
    heal: former => {
      former.releaseStateFolder();
      former.startAgent();
    },
    outcome: 'waits',
  },
];

/** Shows that two that write at once are noticed. */
const NOT_PROMISED: Way = {
  name: 'the agent and the fencer are killed at once',
  strike: async primary => {
    await primary.killAgent();
    await primary.killFencer();
  },
  heal: former => former.startAgent(),
  outcome: 'takes over',
};

const DRIVERS: readonly Driver[] = ['btrfs', 'directory'];

/** Loses the primary of a volume in every way, with a driver; two containers never acknowledge records at the same time. */
export async function tellOfWriters(driver: Driver): Promise<void> {
  const because = driver === 'btrfs' ? await explainNoBtrfs() : undefined;
  const ways = RUNS > 0 ? WAYS : WAYS.filter((_, index) => DRIVERS[index % DRIVERS.length] === driver);

  describe(`a writer of a volume (${driver})`, () => {
    let lab: WritersLab;

    before(async function () {
      if (because !== undefined) skip(this, because);
      lab = await WritersLab.start(driver);
    });
    after(() => lab?.stop());

    /** What the copy lacks was written after the moment that it showed, within what was told, and is set aside. */
    const judgeLoss = async (former: WriterLife, latter: WriterLife, told: PromotionData, copiedAt: number) => {
      const syncedAt = await toUptime(Date.parse(told.syncedAt));
      const shownAt = Math.max(syncedAt, await toUptime(copiedAt));
      const missing = former.acknowledged.filter(({ n }) => n > latter.found!);
      const last = former.acknowledged.at(-1)!;
      const promised = former.acknowledged.findLast(({ at }) => at + TICK_MS < shownAt);
      expect(latter.isWhole, 'what was found').to.equal(true);
      expect(latter.found).to.be.at.least(promised!.n);
      const { secondsLost, secondsUnheard = 0 } = told;
      if (secondsLost !== null)
        expect(syncedAt + (secondsLost + secondsUnheard) * 1000 + TICK_MS).to.be.at.least(last.at);
      if (missing.length > 0) expect(await lab.hasSetAside(last.n), `record ${last.n} to be set aside`).to.equal(true);
    };

    /** What became of the volume; undefined where no copy was needed. */
    const lose = async ({ strike, heal, outcome }: Way) => {
      await lab.forget();
      const former = await lab.writes();
      const copiedAt = await lab.copies();
      const struck = lab.primary;
      const struckAt = await readUptime();
      await strike(struck, lab);
      if (outcome === 'goes on') {
        await lab.writes(TAKEOVER_MS * 2);
        await heal(struck);
        await lab.isWhole();
        expect((await lab.lives()).map(({ container }) => container)).to.deep.equal([former.container]);
        return undefined;
      }
      if (outcome === 'waits') {
        await lab.volume.becomes('waiting to be told', ({ message }) => message?.includes('moor nodes fence') === true);
        await struck.killContainers('db');
        await lab.declareOff();
      }
      const told = await lab.takesOver();
      await lab.writes();
      await heal(struck);
      await lab.isWhole();
      const latter = await lab.writes();
      const lives = await lab.lives();
      const first = lives[0]!;
      const wrote = first.acknowledged.at(-1)!.at - struckAt;
      const outage = latter.acknowledged[0]!.at - struckAt;
      const missing = first.acknowledged.filter(({ n }) => n > latter.found!).length;
      const shown = `it wrote for ${wrote} ms more, the other one after ${outage} ms, ${missing} records were missing`;
      console.log(`      ${shown}`);
      return { lives, first, latter, told, copiedAt, shown };
    };

    const survive = async (way: Way): Promise<void> => {
      const lost = await lose(way);
      if (!lost) return;
      const { lives, first, latter, told, copiedAt, shown } = lost;
      const overlaps = findOverlaps(lives);
      for (const { records, forMs } of overlaps)
        console.log(`      ${records} records in ${forMs} ms beside the other one`);
      expect(overlaps.length, shown).to.be.at.most(way.goesOnLater ? 1 : 0);
      expect(lives, shown).to.have.length(2);
      await judgeLoss(first, latter, told, copiedAt);
      await lab.discards();
    };

    for (let run = 1; run <= Math.max(RUNS, 1); run++) {
      for (const way of ways) {
        it(`is the only one when ${way.name}${RUNS < 2 ? '' : ` (${run} of ${RUNS})`}`, () => survive(way));
      }
    }

    it('is seen beside the other one when the agent and its fencer are killed at once, which is not promised', async () => {
      const lost = await lose(NOT_PROMISED);
      expect(findOverlaps(lost!.lives)).to.have.length(1);
      await lab.discards();
    });
  });
}
