/**
 * `make verify`: everything that can be judged without running the product. Prints each finding, then one line a check,
 * and ends with a line of counts. Names on the command line choose checks: `npx tsx hack/verify.ts circles names`.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

import PQueue from 'p-queue';

import { reasons } from '../crds/reasons/index.js';
import { programArguments } from '../pkg/version/index.js';
import { findCircles } from './checks/circles.js';
import { checkFailpoints } from './checks/failpoints.js';
import { checkFloors } from './checks/floors.js';
import { findKindLists } from './checks/kind-lists.js';
import { findUnlistedKinds } from './checks/kinds.js';
import { findOvergrownRooms, summariseLines } from './checks/lines.js';
import { checkLayout, findUndescribedFolders, findUnmarkedTestCode } from './checks/layout.js';
import { findSharedNames } from './checks/names.js';
import { findUnusedReasons } from './checks/reasons.js';
import { readSources } from './checks/source-files.js';
import { findAssertedTimes } from './checks/times.js';
import { findOwnCommits } from './checks/writes.js';
import { judgeConformance } from './conformance.js';

interface Check {
  readonly name: string;
  readonly run: () => string[] | Promise<string[]>;
}

/** A check that is a program of its own: it has one finding, all that it printed, when it fails. */
const command = (name: string, program: string, ...argv: string[]): Check => ({
  name,
  run: () =>
    new Promise((resolve, reject) => {
      const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
      const printed: Buffer[] = [];
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => printed.push(chunk));
      child.once('error', reject);
      child.once('close', status => resolve(status === 0 ? [] : [Buffer.concat(printed).toString().trim()]));
    }),
});
const installed = (program: string) => `node_modules/.bin/${program}`;

const sources = readSources();
/** The slowest first: they run side by side. One checker of types does what several would each do for themselves. */
const checks: readonly Check[] = [
  command('lint', installed('oxlint'), '--type-aware'),
  command('types', installed('tsc'), '-p', '.', '--checkers', '1'),
  command('unused', installed('knip'), '--no-progress'),
  command('types of the dashboard', installed('tsc'), '-p', 'dashboard', '--checkers', '1'),
  command('generated files', process.execPath, ...programArguments('hack/generate.ts'), '--check'),
  command('rejections', process.execPath, ...programArguments('hack/check-rejections.ts')),
  command('format', installed('biome'), 'format', '.'),
  { name: 'floors', run: () => checkFloors(sources) },
  { name: 'circles', run: () => findCircles(sources) },
  { name: 'names', run: () => findSharedNames(sources) },
  { name: 'kinds', run: () => [...findUnlistedKinds(sources), ...findKindLists(sources)] },
  {
    name: 'layout',
    run: () => [...checkLayout(sources), ...findUndescribedFolders([...sources, ...readSources(['*README.md'])])],
  },
  { name: 'lines', run: () => findOvergrownRooms(sources) },
  { name: 'test code', run: () => findUnmarkedTestCode(sources) },
  { name: 'times', run: () => findAssertedTimes(sources) },
  { name: 'writes', run: () => findOwnCommits(sources) },
  { name: 'conformance', run: () => judgeConformance(readFileSync('docs/conformance.md', 'utf8'), sources) },
  { name: 'failpoints', run: () => checkFailpoints(sources) },
  { name: 'reasons', run: () => findUnusedReasons(sources, Object.keys(reasons)) },
];

const named = process.argv.slice(2);
const chosen = checks.filter(({ name }) => named.length === 0 || named.includes(name));
const results = await new PQueue({ concurrency: availableParallelism() }).addAll(
  chosen.map(({ name, run }) => async () => {
    const findings = await run();
    for (const line of findings) console.log(line);
    console.log(`${findings.length === 0 ? 'ok    ' : 'FAILED'} ${name}`);
    return findings.length === 0;
  }),
);
console.log(summariseLines(sources));
const failed = results.filter(passed => !passed).length;
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
