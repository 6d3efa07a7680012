import { expect } from 'chai';

import { lacksOnlyRemoved } from './directory-backend.js';

describe('a copy of a folder in which files come and go', () => {
  const gone = "cp: cannot stat '/v/a': No such file or directory\n";
  const ended: readonly (readonly [string, object, boolean])[] = [
    [
      'what was removed',
      { code: 1, stderr: `${gone}cp: cannot open '/v/b' for reading: No such file or directory\n` },
      true,
    ],
    ['a folder that was removed', { code: 1, stderr: `${gone}cp: '/v/c': No such file or directory\n` }, true],
    ['a full disk', { code: 1, stderr: `${gone}cp: error writing '/w/b': No space left on device\n` }, false],
    [
      'a copy that was removed',
      { code: 1, stderr: "cp: cannot create regular file '/w/b': No such file or directory\n" },
      false,
    ],
    [
      'a file that was exchanged',
      { code: 1, stderr: "cp: skipping file '/v/a', as it was replaced while being copied\n" },
      false,
    ],
    ['no word', { code: 1, stderr: '' }, false],
    ['a kill', { code: null, signal: 'SIGKILL', stderr: gone }, false],
    ['a kill by this process', { code: 1, killed: true, stderr: gone }, false],
    ['another failure', { code: 2, stderr: gone }, false],
    ['nothing that is known', {}, false],
  ];
  for (const [name, cause, isSo] of ended) {
    it(`${isSo ? 'goes on' : 'fails'} where cp ended with ${name}`, () => {
      expect(lacksOnlyRemoved(cause)).to.equal(isSo);
    });
  }
});
