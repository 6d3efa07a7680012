import { expect } from 'chai';

import { countRoom } from './volume-checks.js';

const GIB = 2 ** 30;

describe('the room of a disk for volumes', () => {
  const disk = { freeBytes: 40 * GIB, reserveBytes: GIB };
  const volumes = [{ sizeBytes: 50 * GIB }, { sizeBytes: 10 * GIB }];

  it('is the same before and after an agent that has made some starts again', () => {
    const before = countRoom({ freeBytes: 100 * GIB, reserveBytes: GIB }, { enforcesSize: true }, []);
    expect(countRoom(disk, { enforcesSize: true }, volumes))
      .to.equal(before)
      .and.to.equal(99 * GIB);
  });

  it('is what is free where volumes take nothing beforehand', () => {
    expect(countRoom(disk, { enforcesSize: false }, volumes)).to.equal(39 * GIB);
  });

  it('is never unknown', () => {
    expect(countRoom({ freeBytes: 0, reserveBytes: GIB }, { enforcesSize: true }, [])).to.equal(1);
  });
});
