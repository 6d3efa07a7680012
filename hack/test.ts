/**
 * `make test`: every suite, one after the other, and one line of counts at the end.
 *
 * A suite that cannot run on this machine is skipped by name, never counted as passed. Names on the command line choose
 * suites: `make test SUITES="unit etcd"`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Suite {
  readonly name: string;
  readonly specs: readonly string[];
  readonly ignore?: readonly string[];
  readonly timeoutMs?: number;
  /** A program without which the suite cannot run. */
  readonly needs?: string;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

const suites: readonly Suite[] = [
  {
    name: 'unit',
    specs: ['crds', 'pkg', 'controllers', 'api', 'up', 'hack', 'e2e/lab'].map(folder => `${folder}/**/*.test.ts`),
    ignore: ['**/*.etcd.test.ts', '**/*.docker.test.ts'],
  },
  { name: 'etcd', specs: ['{pkg,api,controllers,up}/**/*.etcd.test.ts'], timeoutMs: 60_000, needs: 'etcd' },
  { name: 'engine', specs: ['pkg/**/*.docker.test.ts'], timeoutMs: 120_000, needs: 'dockerd' },
  { name: 'simulation', specs: ['e2e/simulation/**/*.test.ts'], timeoutMs: 300_000 },
  { name: 'e2e', specs: ['e2e/stories/**/*.test.ts'], timeoutMs: 180_000, needs: 'dockerd' },
];

function installed(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

function verify(): Counts {
  const { status, stdout } = spawnSync('npx', ['--no-install', 'tsx', 'hack/verify.ts'], { encoding: 'utf8' });
  process.stdout.write(stdout);
  const [, passed = '0', failed = '0'] = /^(\d+) passed, (\d+) failed$/m.exec(stdout) ?? [];
  return { passed: Number(passed), failed: status === 0 ? 0 : Math.max(1, Number(failed)), skipped: [] };
}

function run(suite: Suite): Counts {
  if (suite.needs && !installed(suite.needs)) {
    return { passed: 0, failed: 0, skipped: [`suite ${suite.name}: ${suite.needs} is not installed`] };
  }
  const folder = mkdtempSync(join(tmpdir(), 'mooring-test-'));
  const file = join(folder, 'counts.json');
  try {
    const argv = ['--no-install', 'mocha', '--reporter', 'hack/test/reporter.cjs', '--exit'];
    if (suite.timeoutMs) argv.push('--timeout', String(suite.timeoutMs));
    for (const pattern of suite.ignore ?? []) argv.push('--ignore', pattern);
    const { status } = spawnSync('npx', [...argv, ...suite.specs], {
      stdio: 'inherit',
      env: { ...process.env, MOORING_TEST_COUNTS: file },
    });
    return counted(file, status);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A runner that died before it could count is a failure, whatever it had printed. */
function counted(file: string, status: number | null): Counts {
  try {
    const counts = JSON.parse(readFileSync(file, 'utf8')) as Counts;
    return status === 0 ? counts : { ...counts, failed: Math.max(1, counts.failed) };
  } catch {
    return { passed: 0, failed: 1, skipped: [] };
  }
}

const chosen = process.argv.slice(2);
const wanted = (name: string) => chosen.length === 0 || chosen.includes(name);
const results: [string, Counts, number][] = [];
const timed = (name: string, work: () => Counts) => {
  const begun = Date.now();
  console.log(`\n== ${name}`);
  results.push([name, work(), (Date.now() - begun) / 1000]);
};

if (wanted('verify')) timed('verify', verify);
for (const suite of suites.filter(({ name }) => wanted(name))) timed(suite.name, () => run(suite));

console.log('');
for (const [name, { passed, failed, skipped }, seconds] of results) {
  console.log(
    `${name.padEnd(12)} ${passed} passed, ${failed} failed, ${skipped.length} skipped  (${seconds.toFixed(0)} s)`,
  );
}
for (const reason of results.flatMap(([, { skipped }]) => skipped)) console.log(`skipped: ${reason}`);

const sum = (pick: (counts: Counts) => number) => results.reduce((total, [, counts]) => total + pick(counts), 0);
const failed = sum(counts => counts.failed);
console.log(`${sum(c => c.passed)} passed, ${failed} failed, ${sum(c => c.skipped.length)} skipped`);
process.exitCode = failed === 0 ? 0 : 1;
