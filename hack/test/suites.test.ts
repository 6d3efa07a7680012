import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import type { Tier } from '../../dev/testing/index.js';
import { listSourceFiles } from '../checks/source-files.js';
import { chooseShare, planFiles, type Suite, suites } from './suites.js';

const read = (path: string) => readFileSync(path, 'utf8');

describe('the two tiers of tests', () => {
  it('have every file of tests between them, each in one suite', () => {
    const files = listSourceFiles(['*.test.ts']);
    const planned = (['quick', 'deep'] as const).map(tier => suites.flatMap(suite => planFiles(suite, { tier, read })));
    expect([...new Set(planned.flat())].toSorted()).to.deep.equal(files);
    for (const tier of planned) expect(tier).to.deep.equal([...new Set(tier)]);
  });

  const sources: Readonly<Record<string, string>> = {
    'a.test.ts': '',
    'b.deep.test.ts': '',
    'c.test.ts': 'for (const each of sampleCases(3, cases)) {',
    'd.deep.test.ts': '',
    'e.test.ts': 'numRuns: sampleRuns(3, 100)',
  };
  const files = Object.keys(sources);
  const plan = (options: { tier: Tier; share?: string }, suite: Partial<Suite> = {}) =>
    planFiles(
      { name: 'some', has: () => true, ...suite },
      {
        tier: options.tier,
        share: chooseShare(options.share ?? '', () => 'a commit'),
        files,
        read: path => sources[path]!,
      },
    );

  it('are told by the name of a file: make test leaves out what is deep', () => {
    expect(plan({ tier: 'quick' })).to.deep.equal(['a.test.ts', 'c.test.ts', 'e.test.ts']);
  });

  it('both have a file that samples its cases: the deep one runs all of them', () => {
    expect(plan({ tier: 'deep' })).to.deep.equal(['b.deep.test.ts', 'c.test.ts', 'd.deep.test.ts', 'e.test.ts']);
  });

  it('begin with the files that a suite names first, and refuse one that it does not have', () => {
    expect(plan({ tier: 'deep' }, { first: ['d.deep.test.ts'] })[0]).to.equal('d.deep.test.ts');
    expect(() => plan({ tier: 'quick' }, { first: ['z.test.ts'] })).to.throw('suite some has no z.test.ts');
  });

  it('have shares that divide the files, but for a suite that divides its cases itself', () => {
    const shares = ['1/2', '2/2'].map(share => plan({ tier: 'deep', share }));
    expect(shares.flat().toSorted()).to.deep.equal(plan({ tier: 'deep' }));
    for (const share of shares) expect(share).to.have.length.within(1, 3);
    expect(plan({ tier: 'deep', share: '2/2' }, { isDivided: true })).to.have.length(4);
  });

  it('have each share drawn by some commits, and always by the same', () => {
    const commits = Array.from({ length: 20 }, (_, at) => `commit ${at}`);
    const draw = () => commits.map(commit => chooseShare('commit', () => commit).at);
    expect(draw()).to.include.members([0, 1]);
    expect(draw()).to.deep.equal(draw());
  });

  for (const text of ['0/2', '3/2', 'half', '1/0']) {
    it(`have no share ${text}`, () => expect(() => chooseShare(text, () => 'a commit')).to.throw('is no share'));
  }
});
