import { describeCrashes } from './crashes.contract.js';
import { describeDriver, MIB } from './driver.contract.js';
import { explainNoBtrfs } from './open-driver.js';

const missing = await explainNoBtrfs();

describe(`the btrfs driver${missing === undefined ? '' : `: ${missing}`}`, () => {
  before(function () {
    if (missing !== undefined) this.skip();
  });

  describeDriver('btrfs', 512 * MIB);

  describeCrashes('btrfs', 512 * MIB, {
    'volume.recorded': 'materialise',
    'volume.formatted': 'materialise',
    'volume.attached': 'materialise',
    'volume.resizing': 'grow',
    'volume.image_grown': 'grow',
    'volume.shrunk': 'shrink',
    'volume.resized': 'shrink',
    'volume.received': 'receive',
    'volume.accepted': 'receive',
    'volume.promoting': 'promote',
    'volume.swapping': 'promote',
    'volume.released': 'remove',
    'volume.removing': 'remove',
  });
});
