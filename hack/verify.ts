/**
 * `make verify`: everything that can be judged without running the product. Prints what is wrong, then one line a
 * check, and ends with a line of counts.
 */
import { spawnSync } from 'node:child_process';

import { checkFailpoints } from './checks/failpoints.js';
import { checkFloors } from './checks/floors.js';
import { checkSize } from './checks/size.js';

interface Check {
  readonly name: string;
  readonly run: () => string[];
}

const command = (name: string, ...argv: string[]): Check => ({
  name,
  run: () => {
    const { status, stdout, stderr } = spawnSync('npx', ['--no-install', ...argv], { encoding: 'utf8' });
    return status === 0 ? [] : [stdout, stderr].map(text => text.trim()).filter(text => text !== '');
  },
});

const checks: readonly Check[] = [
  command('types', 'tsc', '-p', '.'),
  command('lint', 'oxlint', '--type-aware'),
  command('format', 'biome', 'format', '.'),
  { name: 'floors', run: checkFloors },
  { name: 'size', run: checkSize },
  { name: 'failpoints', run: checkFailpoints },
  command('rejections', 'tsx', 'hack/check-rejections.ts'),
  command('generated files', 'tsx', 'hack/generate.ts', '--check'),
];

let failed = 0;
for (const { name, run } of checks) {
  const found = run();
  for (const line of found) console.log(line);
  console.log(`${found.length === 0 ? 'ok    ' : 'FAILED'} ${name}`);
  if (found.length > 0) failed++;
}
console.log(`${checks.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
