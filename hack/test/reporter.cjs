// Mocha's own spec reporter, which also leaves the counts and the reasons of skips in the file named by MOORING_TEST_COUNTS.
// Told to end, it lets the test under way end, and has what was put up for it taken down.
const { writeFileSync } = require('node:fs');
const Mocha = require('mocha');

module.exports = class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const skipped = [];
    process.on('SIGINT', () => runner.abort());
    runner.on('pending', test => skipped.push(test.fullTitle()));
    runner.once('end', () => {
      const { passes, failures } = this.stats;
      writeFileSync(process.env.MOORING_TEST_COUNTS, JSON.stringify({ passed: passes, failed: failures, skipped }));
    });
  }
};
