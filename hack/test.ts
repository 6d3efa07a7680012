/**
 * `make test`: every suite, one after the other, and one line of counts at the end.
 *
 * A suite that cannot run on this machine is skipped by name, never counted as passed. Names on the command line choose
 * suites: `make test SUITES="unit etcd"`. Where files of a suite run side by side, each prints all it has to say when it
 * has ended. A Ctrl-C lets the tests under way end and take down what they put up, and fails; a second does not wait.
 */
import { type Counts, sum } from './test/counts.js';
import { Programs } from './test/programs.js';
import { runSuite } from './test/run-suite.js';
import { suites } from './test/suites.js';

const programs = new Programs();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => programs.end());

async function verify(): Promise<Counts> {
  const { status, printed } = await programs.run(['--import=tsx', 'hack/verify.ts'], { live: false });
  process.stdout.write(printed);
  const [, passed = '0', failed = '0'] = /^(\d+) passed, (\d+) failed$/m.exec(printed) ?? [];
  return { passed: Number(passed), failed: status === 0 ? 0 : Math.max(1, Number(failed)), skipped: [] };
}

const all: readonly (readonly [string, () => Promise<Counts>])[] = [
  ['verify', verify],
  ...suites.map(suite => [suite.name, () => runSuite(suite, programs)] as const),
];
const chosen = process.argv.slice(2);
const results: [string, Counts, number][] = [];
for (const [name, work] of all) {
  if (programs.isEnding || (chosen.length > 0 && !chosen.includes(name))) continue;
  const begun = Date.now();
  console.log(`\n== ${name}`);
  const counts = await work().catch((thrown: unknown): Counts => {
    console.error(thrown);
    return { passed: 0, failed: 1, skipped: [] };
  });
  results.push([name, counts, (Date.now() - begun) / 1000]);
}

console.log('');
for (const [name, { passed, failed, skipped }, seconds] of results) {
  console.log(
    `${name.padEnd(12)} ${passed} passed, ${failed} failed, ${skipped.length} skipped  (${seconds.toFixed(0)} s)`,
  );
}
const { passed, failed, skipped } = sum(results.map(([, counts]) => counts));
for (const reason of skipped) console.log(`skipped: ${reason}`);
console.log(`${passed} passed, ${failed} failed, ${skipped.length} skipped`);
process.exitCode = failed === 0 && !programs.isEnding ? 0 : 1;
