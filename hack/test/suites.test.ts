import { expect } from 'chai';

import { sourceFiles } from '../checks/source-files.js';
import { planOf, type Suite, suites } from './suites.js';

describe('the suites', () => {
  const planned = (suite: Suite, files?: string[]) => {
    const { together, alone } = planOf(suite, files);
    return [...together, ...alone].flat();
  };

  it('have every file of tests, each once', () => {
    const files = sourceFiles().filter(path => path.endsWith('.test.ts'));
    expect(suites.flatMap(suite => planned(suite)).sort()).to.deep.equal(files);
  });

  const files = ['a.test.ts', 'b.test.ts', 'c.test.ts', 'd.test.ts', 'd.ts'];
  const suite: Suite = { name: 'some', has: path => path !== 'd.test.ts' };

  it('run in one process, where nothing else is said', () => {
    expect(planOf(suite, files)).to.deep.equal({ together: [files.slice(0, 3)], alone: [] });
  });

  it('run in one process but for what must be alone', () => {
    const plan = { together: [['b.test.ts', 'c.test.ts']], alone: [['a.test.ts']] };
    expect(planOf({ ...suite, alone: ['a.test.ts'] }, files)).to.deep.equal(plan);
  });

  it('run side by side, the longest first, and apart what must be alone', () => {
    const wide: Suite = { ...suite, sideBySide: true, first: ['c.test.ts'], alone: ['a.test.ts'] };
    expect(planOf(wide, files)).to.deep.equal({ together: [['c.test.ts'], ['b.test.ts']], alone: [['a.test.ts']] });
  });

  for (const wrong of [{ alone: ['d.test.ts'] }, { first: ['e.test.ts'] }, { has: () => false }]) {
    it(`are not without what they name: ${Object.keys(wrong)[0]}`, () => {
      expect(() => planOf({ ...suite, ...wrong }, files)).to.throw();
    });
  }
});
