/**
 * `node dist/hack/join-typebox.js DIST`: leaves typebox as one file in `DIST/node_modules`, where what was compiled file by file finds it.
 *
 * The package has 370 files, of which each process of tests would read all.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const [dist] = process.argv.slice(2);
if (dist === undefined) throw new Error('name the folder of the compiled programs');
const folder = join(dist, 'node_modules', 'typebox');
await build({
  entryPoints: [fileURLToPath(import.meta.resolve('typebox'))],
  outfile: join(folder, 'index.js'),
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
});
await writeFile(
  join(folder, 'package.json'),
  JSON.stringify({ name: 'typebox', type: 'module', exports: './index.js' }),
);
