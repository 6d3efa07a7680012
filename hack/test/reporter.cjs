// Mocha's own spec reporter, which also leaves in the file named by MOORING_TEST_COUNTS what became of the tests of each file.
const { writeFileSync } = require('node:fs');
const Mocha = require('mocha');

/** The first lines of what was thrown, without the steps that lie in libraries, and of what caused it. */
function describeFailure(thrown) {
  const lines = String(thrown?.stack ?? thrown).split('\n');
  const shown = lines
    .filter(line => !/node_modules|node:internal/.test(line))
    .slice(0, 8)
    // The case that a property failed with is whole: it becomes a case of its own.
    .map(line => `    ${line.trim().slice(0, line.startsWith('Counterexample') ? 20_000 : 400)}`);
  const cause = thrown?.cause?.message;
  return [...shown, ...(cause ? [`    cause: ${String(cause).slice(0, 2_000)}`] : [])].join('\n');
}

module.exports = class CountingReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const files = {};
    const countsOf = file => (files[file ?? ''] ??= { passed: 0, failed: [], skipped: [] });
    runner.on('pass', test => countsOf(test.file).passed++);
    runner.on('pending', test => countsOf(test.file).skipped.push(test.fullTitle()));
    runner.on('fail', (test, thrown) =>
      countsOf(test.file ?? thrown?.file).failed.push(`${test.fullTitle()}\n${describeFailure(thrown)}`),
    );
    runner.once('end', () => writeFileSync(process.env.MOORING_TEST_COUNTS, JSON.stringify(files)));
  }
};
