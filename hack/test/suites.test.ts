import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import { listSourceFiles } from '../checks/source-files.js';
import { countLanes, planParts, type Suite, suites } from './suites.js';

describe('the suites', () => {
  it('have every file of tests, each once', () => {
    const files = listSourceFiles().filter(path => path.endsWith('.test.ts'));
    expect(suites.flatMap(suite => planParts(suite).flat()).sort()).to.deep.equal(files);
  });

  it('are bundled only where no test finds files by where it stands itself', () => {
    const bundled = suites.filter(suite => suite.bundled).flatMap(suite => planParts(suite).flat());
    expect(bundled.filter(path => readFileSync(path, 'utf8').includes('import.meta'))).to.deep.equal([]);
  });

  const files = ['a.test.ts', 'b.test.ts', 'c.test.ts', 'd.test.ts', 'd.ts'];
  const suite: Suite = { name: 'some', track: 1, has: path => path !== 'd.test.ts' };

  it('run in one process, where nothing else is said', () => {
    expect(planParts(suite, files)).to.deep.equal([files.slice(0, 3)]);
  });

  it('are divided among processes', () => {
    expect(planParts({ ...suite, processes: 2 }, files)).to.deep.equal([['a.test.ts', 'c.test.ts'], ['b.test.ts']]);
  });

  it('run side by side, the longest first', () => {
    const wide: Suite = { ...suite, sideBySide: true, first: ['c.test.ts'] };
    expect(planParts(wide, files)).to.deep.equal([['c.test.ts'], ['a.test.ts'], ['b.test.ts']]);
  });

  it('have a lane a core, and more where they wait', () => {
    expect([1, 2, 3].map(cores => countLanes(suite, cores))).to.deep.equal([1, 2, 3]);
    expect([1, 2, 3].map(cores => countLanes({ ...suite, lanesPerCore: 1.5 }, cores))).to.deep.equal([2, 3, 5]);
  });

  for (const wrong of [{ first: ['e.test.ts'] }, { has: () => false }]) {
    it(`are not without what they name: ${Object.keys(wrong)[0]}`, () => {
      expect(() => planParts({ ...suite, ...wrong }, files)).to.throw();
    });
  }
});
