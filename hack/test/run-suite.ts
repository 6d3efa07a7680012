import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { briefOptions, isForwardDropped } from '../../dev/processes/index.js';
import { type Counts, readCounts, sum } from './counts.js';
import { runInLanes } from './lanes.js';
import type { Programs } from './programs.js';
import { countLanes, type Part, planParts, type Suite } from './suites.js';

/** Mocha in the process that we start: its own command would start another, and pass no signal on. */
const MOCHA = createRequire(import.meta.url).resolve('mocha/lib/cli/cli.js');

/** What the cases of properties are made from. A commit is judged by the same ones everywhere, the next one by others; a seed that is set is taken instead. */
const PROPERTY_SEED = process.env['MOORING_PROPERTY_SEED'] ?? String(deriveSeed());

function deriveSeed(): number {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD^{tree}'], { encoding: 'utf8' });
  return Number.parseInt(/^[0-9a-f]{7}/.exec(stdout)?.[0] ?? '1', 16);
}

/** What every part of a suite has in common. */
interface Run {
  readonly suite: Suite;
  readonly programs: Programs;
  /** Whether a suite of one part prints while it runs, instead of at its end. */
  readonly live: boolean;
}

/** Runs a suite, if this machine has what it needs. */
export async function runSuite(suite: Suite, programs: Programs, { live }: { live: boolean }): Promise<Counts> {
  if (suite.needs && spawnSync('sh', ['-c', `command -v ${suite.needs}`]).status !== 0) {
    return { passed: 0, failed: [], skipped: [`suite ${suite.name}: ${suite.needs} is not installed`] };
  }
  return runParts({ suite, programs, live });
}

/** The parts of a suite, side by side. */
async function runParts(run: Run): Promise<Counts> {
  const parts = planParts(run.suite);
  const work = (part: Part) => () => runPart(part, { ...run, live: run.live && parts.length === 1 });
  return sum(await runInLanes(await lanesFor(run.suite), parts.map(work)));
}

/** Engines that write firewall rules undo some of each other's: then there is one at a time. */
async function lanesFor(suite: Suite): Promise<number> {
  return suite.needs === 'dockerd' && (await isForwardDropped()) ? 1 : countLanes(suite);
}

/** The tests run compiled, as the programs do: each process starts in half the time, and the simulation computes less. */
function toCompiled(path: string): string {
  return `dist/${path.replace(/\.ts$/, '.js')}`;
}

async function runPart(part: Part, { suite, programs, live }: Run): Promise<Counts> {
  if (programs.isEnding) return { passed: 0, failed: [], skipped: [] };
  const folder = mkdtempSync(join(tmpdir(), 'mooring-test-'));
  const file = join(folder, 'counts.json');
  try {
    const argv = ['--enable-source-maps', ...briefOptions, MOCHA, '--no-config', '--exit'];
    argv.push(
      '--reporter',
      'hack/test/reporter.cjs',
      '--require',
      'hack/test/property-seed.cjs',
      '--slow',
      '2000',
      '--timeout',
      String(suite.timeoutMs ?? 60_000),
    );
    if (process.stdout.isTTY) argv.push('--color');
    const { status, printed } = await programs.run([...argv, ...part.map(toCompiled)], {
      live,
      environment: { MOORING_TEST_COUNTS: file, MOORING_PROPERTY_SEED: PROPERTY_SEED },
    });
    process.stdout.write(printed);
    return readCounts(file, { status, tests: part.join(' ') });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
