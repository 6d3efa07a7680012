import { expect } from 'chai';

import { readArguments } from './arguments.js';
import { InvalidSettingFault } from './faults.js';

describe('arguments of a process', () => {
  it('gives settings by their keys, and the rest by their names', () => {
    const given = ['--leader-lease-seconds', '5', '--config', 'a.yaml', '--only=scheduler'];
    expect(readArguments(given, ['only'])).to.deep.equal({
      flags: { leaderLeaseSeconds: '5' },
      file: 'a.yaml',
      more: { only: 'scheduler' },
    });
  });

  for (const given of [['--no-such-thing', '1'], ['stray'], ['--listen']]) {
    it(`refuses ${given.join(' ')}`, () => {
      expect(() => readArguments(given)).to.throw(InvalidSettingFault);
    });
  }
});
