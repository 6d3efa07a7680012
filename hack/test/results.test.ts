import { expect } from 'chai';

import { type Counts, judgeRunner, judgeSuite, renderResults, type RunnerReport } from './results.js';

const counted = (passed: number, failed: readonly string[] = [], skipped: readonly string[] = []): Counts => ({
  passed,
  failed,
  skipped,
});

describe('the results of tests', () => {
  const report: RunnerReport = {
    counts: { 'a.test.js': counted(3, [], ['one']), 'b.test.js': counted(1, ['two\n    Error: no']) },
    costs: [
      { file: 'a.test.js', seconds: 2, cpuSeconds: 1 },
      { file: 'c.test.js', seconds: 9, cpuSeconds: 9 },
    ],
    status: 1,
  };

  it('are summed for the files of a suite, with what they took', () => {
    expect(judgeSuite('some', ['a.test.js', 'b.test.js'], report)).to.deep.equal({
      name: 'some',
      counts: counted(4, ['two\n    Error: no'], ['one']),
      cost: { seconds: 2, cpuSeconds: 1 },
    });
  });

  it('have a failure for a file of which no test has ended', () => {
    const { counts } = judgeSuite('some', ['c.test.js'], report);
    expect(counts).to.deep.equal(counted(0, ['c.test.js: no test of it has ended']));
  });

  it('have a failure for each file when the runner died before it could count', () => {
    const dead: RunnerReport = { counts: undefined, costs: [], status: null };
    expect(judgeSuite('some', ['a.test.js', 'b.test.js'], dead).counts.failed).to.have.length(2);
    expect(judgeRunner(['a.test.js'], dead).failed).to.deep.equal([
      'the runner ended with status null, though no test failed',
    ]);
  });

  it('have the failures that no file has, and an end that no failure explains', () => {
    const counts = { 'a.test.js': counted(3), '': counted(0, ['Uncaught error outside test suite']) };
    const outside = judgeRunner(['a.test.js'], { counts, costs: [], status: 1 });
    expect(outside.failed).to.deep.equal(['Uncaught error outside test suite']);
    const unexplained = judgeRunner(['a.test.js'], { counts: { 'a.test.js': counted(3) }, costs: [], status: 7 });
    expect(unexplained.failed).to.deep.equal(['the runner ended with status 7, though no test failed']);
    const sound = judgeRunner(['a.test.js'], { counts: { 'a.test.js': counted(3) }, costs: [], status: 0 });
    expect(sound.failed).to.deep.equal([]);
  });

  it('end with the names of what was skipped and of what failed, and one line of counts', () => {
    const results = [judgeSuite('some', ['a.test.js', 'b.test.js'], report)];
    expect(renderResults(results).split('\n')).to.deep.equal([
      'some         4 passed, 1 failed, 1 skipped  (2 s, 1 s of processors)',
      'skipped: one',
      'failed: two',
      '    Error: no',
      '4 passed, 1 failed, 1 skipped',
    ]);
  });
});
