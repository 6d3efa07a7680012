import * as acts from './copy-acts.js';
import { CopyTeller } from './copy-teller.js';
import { copyPoints } from './failpoints.js';

const ACTS = 3;

/** The first of each seed is the turn of one that promotes. */
const losing: readonly acts.CopyAct[] = [
  acts.cutOff,
  acts.cutOff,
  acts.cutOff,
  acts.spoilState,
  story => story.switchOff(),
  acts.goAbroad,
];

const all: readonly acts.CopyAct[] = [
  ...losing,
  acts.swapDisk,
  acts.swapCopy,
  acts.mountLate,
  acts.outrun,
  acts.dropCopy,
  acts.dropCopy,
  acts.loseTwo,
  acts.cutPath,
  acts.fill,
  acts.fill,
  acts.move,
  acts.move,
  acts.moveAway,
  acts.moveAway,
];

/**
 * While nothing else goes wrong: a volume with two copies is made and written to, and then one after the other of what may happen to
 * its machines does, drawn by the seed. After each, it must be served, written to, and copied again.
 */
export class CopyStory extends CopyTeller {
  async tell(seed: number): Promise<void> {
    const { world } = this.parts.cluster;
    await this.begin();
    for (let turn = 0; turn < ACTS; turn++) {
      this.arm(copyPoints[(seed + turn) % copyPoints.length]!);
      if (world.chance(0.5)) this.arm(world.pick(copyPoints));
      const act = world.pick(turn === 0 ? losing : all);
      world.trace.add(`the story: ${act.name}`);
      await act(this);
      await this.heal(`a volume is copied again after ${act.name}`);
    }
  }
}
