/**
 * `make verify`: everything that can be judged without running the product. Prints each finding, then one line a check,
 * and ends with a line of counts. Names on the command line choose checks: `npx tsx hack/verify.ts circles names`.
 */
import { spawn } from 'node:child_process';

import { findCircles } from './checks/circles.js';
import { checkFailpoints } from './checks/failpoints.js';
import { checkFloors } from './checks/floors.js';
import { checkLayout, findUnmarkedTestCode } from './checks/layout.js';
import { findSharedNames } from './checks/names.js';
import { readSources } from './checks/source-files.js';
import { findAssertedTimes } from './checks/times.js';

interface Check {
  readonly name: string;
  readonly run: () => string[] | Promise<string[]>;
  /** Runs only when it is named: the tree does not pass it yet. */
  readonly isPending?: true;
}

const command = (name: string, ...argv: string[]): Check => ({
  name,
  run: () =>
    new Promise(resolve => {
      const child = spawn('npx', ['--no-install', ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
      const printed: Buffer[] = [];
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => printed.push(chunk));
      child.once('close', status => resolve(status === 0 ? [] : [Buffer.concat(printed).toString().trim()]));
    }),
});

const sources = readSources();
const checks: readonly Check[] = [
  command('types', 'tsc', '-p', '.'),
  command('lint', 'oxlint', '--type-aware'),
  command('format', 'biome', 'format', '.'),
  { name: 'floors', run: () => checkFloors(sources) },
  { name: 'circles', run: () => findCircles(sources), isPending: true },
  { name: 'names', run: () => findSharedNames(sources), isPending: true },
  { name: 'layout', run: () => checkLayout(sources) },
  { name: 'test code', run: () => findUnmarkedTestCode(sources) },
  { name: 'times', run: () => findAssertedTimes(sources) },
  { name: 'failpoints', run: () => checkFailpoints(sources) },
  { ...command('unused', 'knip'), isPending: true },
  command('rejections', 'tsx', 'hack/check-rejections.ts'),
  command('generated files', 'tsx', 'hack/generate.ts', '--check'),
];

const named = process.argv.slice(2);
const chosen = checks.filter(({ name, isPending }) => (named.length > 0 ? named.includes(name) : !isPending));
let failed = 0;
for (const { name, run } of chosen) {
  const findings = await run();
  for (const line of findings) console.log(line);
  console.log(`${findings.length === 0 ? 'ok    ' : 'FAILED'} ${name}`);
  if (findings.length > 0) failed++;
}
console.log(`${chosen.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
