import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { GuideStack } from '../lab/guide-stack.js';

describe('the commands of the tutorial, from the page', () => {
  let stack: GuideStack;

  before(() => {
    stack = new GuideStack();
  });
  after(() => stack.stop());

  /** What a clone has, so that it is compiled, on a machine where everything else is installed: what would install more fails. */
  const makeClone = (): string => {
    const clone = join(stack.folder, 'mooring');
    mkdirSync(clone);
    const tracked = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0');
    execFileSync('cp', ['-a', '--parents', '--', ...tracked.filter(file => existsSync(file)), clone]);
    symlinkSync(realpathSync('node_modules'), join(clone, 'node_modules'));
    for (const name of ['npm', 'apt-get']) {
      writeFileSync(
        join(stack.folder, 'bin', name),
        `#!/bin/sh\necho "a test installs nothing: ${name} $*" >&2\nexit 1\n`,
        {
          mode: 0o755,
        },
      );
    }
    return clone;
  };

  it('from nothing to a rotated secret and a volume that survived', () =>
    stack.run('tutorial.md', {
      around: {
        'make up && make install': ({ commands, shell }) =>
          shell.run(`(cd ${makeClone()} && export BIN=${stack.folder}/bin && ${commands.trim()})`),
      },
    }));
});
