// Mocha's own spec reporter, which also leaves the counts, the reasons of skips and the failures in the file named by MOORING_TEST_COUNTS.
// Told to end, it lets the test under way end, and has what was put up for it taken down.
const { writeFileSync } = require('node:fs');
const Mocha = require('mocha');

/** The first lines of what was thrown, without the steps that lie in libraries, and of what caused it. */
function describeFailure(thrown) {
  const lines = String(thrown?.stack ?? thrown).split('\n');
  const shown = lines
    .filter(line => !/node_modules|node:internal/.test(line))
    .slice(0, 8)
    .map(line => `    ${line.trim().slice(0, 400)}`);
  const cause = thrown?.cause?.message;
  return [...shown, ...(cause ? [`    cause: ${String(cause).slice(0, 2_000)}`] : [])].join('\n');
}

module.exports = class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const skipped = [];
    const failed = [];
    process.on('SIGINT', () => runner.abort());
    runner.on('pending', test => skipped.push(test.fullTitle()));
    runner.on('fail', (test, thrown) => failed.push(`${test.fullTitle()}\n${describeFailure(thrown)}`));
    runner.once('end', () => {
      writeFileSync(process.env.MOORING_TEST_COUNTS, JSON.stringify({ passed: this.stats.passes, failed, skipped }));
    });
  }
};
