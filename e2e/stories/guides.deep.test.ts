import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import { guides, guidesWithStories, readGuide } from '../lab/guide.js';
import { GuideStack } from '../lab/guide-stack.js';

const blocks = guides.flatMap(readGuide);
const skipped = blocks.filter(block => block.skipped !== undefined);

describe('the commands of the tutorial and of the guides, from their pages', function () {
  let stack: GuideStack;

  before(() => {
    stack = new GuideStack();
    stack.start(2);
  });
  after(() => stack.stop());

  it('are run, or say why not, and the front page counts both', () => {
    const counted = `${blocks.length - skipped.length} are run by a test, from the page itself, and ${skipped.length} are not`;
    expect(readFileSync('docs/README.md', 'utf8')).to.contain(counted);
  });

  for (const file of guides.filter(each => !guidesWithStories.includes(each))) {
    const run = readGuide(file).filter(block => block.skipped === undefined);
    it(`${file}: ${run.length} blocks`, () => stack.run(file));
  }
});
