import { expect } from 'chai';

import { readArguments } from './index.js';
import { InvalidSettingFault } from './index.js';

describe('readArguments', () => {
  it('returns settings by their keys, and further options by their names', () => {
    const argv = ['--leader-lease-seconds', '5', '--config', 'a.yaml', '--only=scheduler'];
    expect(readArguments(argv, ['only'])).to.deep.equal({
      flags: { leaderLeaseSeconds: '5' },
      file: 'a.yaml',
      more: { only: 'scheduler' },
    });
  });

  for (const { given, named } of [
    { given: ['--no-such-thing', '1'], named: '--no-such-thing' },
    { given: ['--listen', '127.0.0.1:1', 'stray'], named: 'stray' },
    { given: ['--listen'], named: '--listen' },
    { given: ['--listen', '--only', 'scheduler'], named: '--listen' },
    { given: ['-x'], named: '-x' },
    { given: ['--constructor', '1'], named: '--constructor' },
  ]) {
    it(`refuses ${given.join(' ')}, and names ${named}`, () => {
      expect(() => readArguments(given, ['only'])).to.throw(InvalidSettingFault, named);
    });
  }
});
