import { expect } from 'chai';

import { readArguments } from './arguments.js';
import { InvalidSettingFault } from './settings.js';

describe('arguments of a process', () => {
  it('gives settings by their keys, and the rest by their names', () => {
    const given = ['--leader-lease-seconds', '5', '--config', 'a.yaml', '--only=scheduler'];
    expect(readArguments(given, ['only'])).to.deep.equal({
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
