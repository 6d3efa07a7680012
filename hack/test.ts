/**
 * `make test` and `make test-deep`: one of two tiers, its files in a few lanes beside each other, and counts at the end with the
 * name of each test that was skipped or failed.
 *
 *   test.ts quick|deep [suites…]
 *
 * A suite that cannot run on this machine is skipped by name, never counted as passed. `SHARE=1/2` has the first half of the
 * deep tier run, `SHARE=commit` the half that the commit draws. `hack/sandbox.sh` sees to it that nothing of a run is left.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Tier } from '../dev/testing/index.js';
import { briefOptions } from '../dev/processes/index.js';
import {
  type Cost,
  judgeRunner,
  judgeSuite,
  NOTHING,
  renderResults,
  type RunnerReport,
  type SuiteResult,
} from './test/results.js';
import { chooseShare, planFiles, type Suite, suites } from './test/suites.js';

const MOCHA = createRequire(import.meta.url).resolve('mocha/lib/cli/cli.js');
/** Files that run side by side for each core: most of the longest wait for programs. */
const LANES_PER_CORE = 2;
/** What each file of the last run took, a line each: which of them is worth a thought. */
const COSTS = '.cache/test-costs.jsonl';

const [tier, ...chosen] = process.argv.slice(2) as [Tier, ...string[]];
if (tier !== 'quick' && tier !== 'deep') throw new Error('say which tier is to run: quick or deep');
const known = ['verify', ...suites.map(({ name }) => name)];
const unknown = chosen.filter(name => !known.includes(name));
if (unknown.length > 0) throw new Error(`there is no suite ${unknown.join()}: choose from ${known.join()}`);
const share = chooseShare(tier === 'deep' ? (process.env['SHARE'] ?? '') : '', () => readCommit('HEAD'));
const isChosen = (name: string) => chosen.length === 0 || chosen.includes(name);

function readCommit(name: string): string {
  return spawnSync('git', ['rev-parse', name], { encoding: 'utf8' }).stdout;
}

/** What the cases of properties are made from. A commit is judged by the same ones everywhere, the next one by others; a seed that is set is taken instead. */
function chooseSeed(): string {
  const tree = /^[0-9a-f]{7}/.exec(readCommit('HEAD^{tree}'))?.[0] ?? '1';
  return process.env['MOORING_PROPERTY_SEED'] ?? String(Number.parseInt(tree, 16));
}

/** Runs Node. What it prints is kept where it must not mix with what others print. */
function run(
  argv: readonly string[],
  { isKept = false, environment = {} } = {},
): Promise<{ status: number | null; printed: string }> {
  const output = isKept ? 'pipe' : 'inherit';
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', output, output] });
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => printed.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', status => resolve({ status, printed: Buffer.concat(printed).toString() }));
  });
}

async function verify(): Promise<SuiteResult> {
  const begun = performance.now();
  const { status, printed } = await run(['dist/hack/verify.js'], { isKept: true });
  process.stdout.write(printed);
  const [, passed = '0'] = /^(\d+) passed, \d+ failed$/m.exec(printed) ?? [];
  const failed = Array.from(printed.matchAll(/^FAILED (.+)$/gm), ([, name]) => `verify ${name}`);
  const end = status === 0 || failed.length > 0 ? [] : [`verify ended with status ${status}`];
  const cost: Cost = { seconds: (performance.now() - begun) / 1000, cpuSeconds: 0 };
  return { name: 'verify', counts: { ...NOTHING, passed: Number(passed), failed: [...failed, ...end] }, cost };
}

/** The tests run compiled, as the programs do: each process starts in half the time, and the simulation computes less. */
function toCompiled(path: string): string {
  return join(process.cwd(), 'dist', path.replace(/\.ts$/, '.js'));
}

async function runFiles(files: readonly string[]): Promise<RunnerReport> {
  if (files.length === 0) return { counts: {}, costs: [], status: 0 };
  const counts = join(mkdtempSync(join(tmpdir(), 'mooring-counts-')), 'counts.json');
  mkdirSync('.cache', { recursive: true });
  rmSync(COSTS, { force: true });
  const options = {
    jobs: availableParallelism() * LANES_PER_CORE,
    reporter: 'hack/test/reporter.cjs',
    require: 'hack/test/hooks.cjs',
    slow: 5_000,
    timeout: 300_000,
  };
  const seed = chooseSeed();
  console.log(`properties are tried with MOORING_PROPERTY_SEED=${seed}`);
  const argv = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const { status } = await run(
    ['--enable-source-maps', ...briefOptions, MOCHA, '--no-config', '--parallel', '--exit', ...argv, ...files],
    {
      environment: {
        MOORING_TIER: tier,
        MOORING_SHARE: `${share.at + 1}/${share.of}`,
        MOORING_TEST_COUNTS: counts,
        MOORING_TEST_COSTS: COSTS,
        MOORING_PROPERTY_SEED: seed,
      },
    },
  );
  const lines = existsSync(COSTS) ? readFileSync(COSTS, 'utf8').trim().split('\n') : [];
  return {
    counts: existsSync(counts) ? JSON.parse(readFileSync(counts, 'utf8')) : undefined,
    costs: lines.map(line => JSON.parse(line)),
    status,
  };
}

/** Its files as they are run; none where this machine does not have what it needs. */
function plan(suite: Suite): readonly string[] | undefined {
  if (suite.needs && spawnSync('sh', ['-c', `command -v ${suite.needs}`]).status !== 0) return undefined;
  return planFiles(suite, { tier, share, read: path => readFileSync(path, 'utf8') }).map(toCompiled);
}

const planned = suites.filter(({ name }) => isChosen(name)).map(suite => ({ suite, files: plan(suite) }));
const files = planned.flatMap(each => each.files ?? []);
if (files.length === 0 && !chosen.includes('verify')) throw new Error(`the tier has no files of ${chosen.join()}`);
if (tier === 'deep') console.log(`share ${share.at + 1} of ${share.of} of the deep tier: ${files.length} files`);
const [verified, report] = await Promise.all([
  tier === 'quick' && isChosen('verify') ? verify() : undefined,
  runFiles(files),
]);

const results = planned.map(({ suite: { name, needs }, files: own }) =>
  own
    ? judgeSuite(name, own, report)
    : {
        name,
        counts: { ...NOTHING, skipped: [`suite ${name}: ${needs} is not installed`] },
        cost: { seconds: 0, cpuSeconds: 0 },
      },
);
const runner = { name: 'runner', counts: judgeRunner(files, report), cost: { seconds: 0, cpuSeconds: 0 } };
const all = [...(verified ? [verified] : []), ...results, ...(runner.counts.failed.length > 0 ? [runner] : [])];
console.log(`\n${renderResults(all)}`);
process.exitCode = all.some(({ counts }) => counts.failed.length > 0) ? 1 : 0;
