import { expect } from 'chai';

import { canWrite, parseMounts } from './mounted.js';

const FOLDER = '/var/lib/mooring-agent/volumes/vol_1/data';
const machine = [
  '20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
  '60 20 7:3 / /var/lib/mooring-agent/volumes/vol_2/data rw,relatime - ext4 /dev/loop3 rw',
  '61 20 0:44 /subvolumes/vol\\0403 /var/lib/mooring-agent/volumes/vol_3 rw - btrfs /dev/loop4 rw',
].join('\n');
const root = '700 699 0:90 / / rw,relatime - overlay overlay rw';

interface Case {
  readonly what: string;
  readonly folder?: string;
  readonly mounts: readonly string[];
  readonly writes: boolean;
}

const cases: readonly Case[] = [
  {
    what: 'a container with a folder of the machine',
    mounts: [root, `710 700 8:1 ${FOLDER} /data rw - ext4 x rw`],
    writes: true,
  },
  {
    what: 'a container with a folder below it',
    mounts: [root, `710 700 8:1 ${FOLDER}/sub /data rw - ext4 x rw`],
    writes: true,
  },
  {
    what: 'a container that only reads',
    mounts: [root, `710 700 8:1 ${FOLDER} /data ro,relatime - ext4 x rw`],
    writes: false,
  },
  {
    what: 'a container with a folder of a similar name',
    mounts: [root, `710 700 8:1 ${FOLDER}2 /data rw - ext4 x rw`],
    writes: false,
  },
  {
    what: 'a container with the same path of another disk',
    mounts: [root, `710 700 8:2 ${FOLDER} /data rw - ext4 x rw`],
    writes: false,
  },
  { what: 'a container with nothing of it', mounts: [root], writes: false },
  {
    what: 'a container with a file system of its own for the volume',
    folder: '/var/lib/mooring-agent/volumes/vol_2/data',
    mounts: [root, '710 700 7:3 / /data rw - ext4 /dev/loop3 rw'],
    writes: true,
  },
  {
    what: 'a container with a subvolume whose name holds a blank',
    folder: '/var/lib/mooring-agent/volumes/vol_3/data',
    mounts: [root, '710 700 0:44 /subvolumes/vol\\0403/data /data rw - btrfs /dev/loop4 rw'],
    writes: true,
  },
  { what: 'a service of the machine with mounts of its own', mounts: machine.split('\n'), writes: false },
  { what: 'a process that shows nothing', mounts: [], writes: false },
];

describe('who can write to a folder', () => {
  for (const { what, folder = FOLDER, mounts, writes } of cases) {
    it(`${writes ? 'is' : 'is not'} ${what}`, () => {
      expect(canWrite(folder, parseMounts(mounts.join('\n')), [parseMounts(machine)])).to.equal(writes);
    });
  }

  it('is nobody of the machine itself, also where the fencer stands in a container', () => {
    const inside = [root, `710 700 8:1 /var/lib/mooring-agent /var/lib/mooring-agent rw - ext4 x rw`].join('\n');
    const seen = [parseMounts(inside), parseMounts(machine)];
    expect(canWrite(FOLDER, parseMounts(machine), seen)).to.equal(false);
    expect(canWrite(FOLDER, parseMounts(inside), seen)).to.equal(false);
    const other = ['800 1 0:91 / / rw - overlay overlay rw', `810 800 8:1 ${FOLDER} /data rw - ext4 x rw`];
    expect(canWrite(FOLDER, parseMounts(other.join('\n')), seen)).to.equal(true);
  });

  it('is read from whatever the kernel prints', () => {
    expect(parseMounts('\n\nnonsense\n1 2 3:4 / /')).to.deep.equal([]);
  });
});
