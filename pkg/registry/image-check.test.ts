import { expect } from 'chai';

import { ManualClock } from '../clock/manual-clock.testing.js';
import { ImageCheckCache } from './image-check.js';

describe('ImageCheckCache', () => {
  it('drops the least recently used result when it is full', () => {
    const cache = new ImageCheckCache(new ManualClock(), 3);
    for (const key of ['a', 'b', 'c']) cache.put(key, { outcome: 'absent' });
    cache.get('a');
    cache.put('d', { outcome: 'present' });
    expect(cache.size).to.equal(3);
    expect(['a', 'b', 'c', 'd'].filter(key => cache.get(key))).to.deep.equal(['a', 'c', 'd']);
  });

  it('drops a result when its lifetime is over', async () => {
    const clock = new ManualClock();
    const cache = new ImageCheckCache(clock, 3);
    cache.put('a', { outcome: 'absent' });
    await clock.pass(5_000);
    expect([cache.get('a'), cache.size]).to.deep.equal([undefined, 0]);
  });

  for (const check of [
    { outcome: 'unreachable', reason: 'late' },
    { outcome: 'credential_store_unavailable' },
    { outcome: 'refused', reason: 'address' },
  ] as const) {
    it(`does not cache ${check.outcome}`, () => {
      const cache = new ImageCheckCache(new ManualClock(), 3);
      cache.put('a', check);
      expect(cache.size).to.equal(0);
    });
  }
});
