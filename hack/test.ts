/**
 * `make test`: every suite, in two tracks beside each other, and counts at the end with the name of each test that was skipped or failed.
 *
 * A suite that cannot run on this machine is skipped by name, never counted as passed. Names on the command line choose
 * suites: `make test SUITES="unit etcd"`. Where files of a suite run side by side, each prints all it has to say when it
 * has ended. `MOORING_STALL_MS=700` has all of them stand still for that long now and then: a test that needs the machine to
 * go on without a break fails. A Ctrl-C lets the tests under way end and take down what they put up, and fails; a second does not wait.
 */
import { bundle } from './bundle.js';
import { type Counts, sum } from './test/counts.js';
import { Programs } from './test/programs.js';
import { runSuite } from './test/run-suite.js';
import { planParts, type Suite, suites } from './test/suites.js';

const programs = new Programs();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => programs.end());

async function verify(): Promise<Counts> {
  const { status, printed } = await programs.run(['--import=tsx', 'hack/verify.ts'], { live: false });
  process.stdout.write(printed);
  const [, passed = '0'] = /^(\d+) passed, \d+ failed$/m.exec(printed) ?? [];
  const failed = Array.from(printed.matchAll(/^FAILED (.+)$/gm), ([, name]) => `verify ${name}`);
  return {
    passed: Number(passed),
    failed: status === 0 || failed.length > 0 ? failed : [`verify ended with status ${status}`],
    skipped: [],
  };
}

interface Step {
  readonly name: string;
  readonly run: () => Promise<Counts>;
}
interface StepResult {
  readonly name: string;
  readonly counts: Counts;
  readonly seconds: number;
}

/** Packages that must be there once, for the seed of properties, and those that find files of their own. */
const LEFT = ['fast-check', 'axe-core', 'esbuild', 'etcd3', 'playwright-core'];

const chosen = process.argv.slice(2);
const isChosen = (name: string) => chosen.length === 0 || chosen.includes(name);
const toStep = (suite: Suite): Step => ({
  name: suite.name,
  run: () => runSuite(suite, programs, { live: chosen.length === 1 }),
});
const stepsOf = (track: Suite['track']) => suites.filter(suite => suite.track === track).map(toStep);
const tracks: readonly (readonly Step[])[] = [[{ name: 'verify', run: verify }, ...stepsOf(1)], stepsOf(2)];

/** Runs the chosen steps of a track, one after the other. */
async function runTrack(steps: readonly Step[]): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  for (const { name, run } of steps) {
    if (programs.isEnding || !isChosen(name)) continue;
    const begun = Date.now();
    console.log(`\n== ${name} begins`);
    const counts = await run().catch((thrown: unknown): Counts => {
      console.error(thrown);
      return { passed: 0, failed: [`suite ${name}: ${String(thrown)}`], skipped: [] };
    });
    results.push({ name, counts, seconds: (Date.now() - begun) / 1000 });
    console.log(`\n== ${name} has ended`);
  }
  return results;
}

const bundled = suites.filter(suite => suite.bundled && isChosen(suite.name)).flatMap(suite => planParts(suite).flat());
if (bundled.length > 0) await bundle(bundled, { chunks: 'test-chunks', left: LEFT });

const stallMs = Number(process.env['MOORING_STALL_MS'] ?? 0);
const ended = new AbortController();
const stalling = stallMs > 0 && programs.stall(stallMs, ended.signal);
const results = (await Promise.all(tracks.map(runTrack))).flat();
ended.abort();
await stalling;

console.log('');
for (const { name, counts, seconds } of results) {
  const { passed, failed, skipped } = counts;
  console.log(
    `${name.padEnd(12)} ${passed} passed, ${failed.length} failed, ${skipped.length} skipped  (${seconds.toFixed(0)} s)`,
  );
}
const { passed, failed, skipped } = sum(results.map(({ counts }) => counts));
for (const reason of skipped) console.log(`skipped: ${reason}`);
for (const test of failed) console.log(`failed: ${test}`);
console.log(`${passed} passed, ${failed.length} failed, ${skipped.length} skipped`);
process.exitCode = failed.length === 0 && !programs.isEnding ? 0 : 1;
