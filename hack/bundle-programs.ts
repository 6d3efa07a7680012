/**
 * `node dist/hack/bundle-programs.js DIST`: puts each program, with all it always needs, into few files in `DIST`: in place of
 * the one that was compiled from the same source, and in `chunks`. What a program loads late is a file of its own still.
 *
 * To find and read some 700 files was more than half of the time that a program took to start.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { build } from 'esbuild';

import { clone } from '../pkg/version/index.js';

const PROGRAMS = [
  'api/main.ts',
  'controllers/main.ts',
  'controllers/bridge/main.ts',
  'pkg/agent/main.ts',
  'pkg/cli/main.ts',
  'up/main.ts',
  'up/supervisor-main.ts',
];

/** For packages that are not ES modules and ask for those of Node. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);";

const [dist] = process.argv.slice(2);
if (dist === undefined) throw new Error('name the folder of the compiled programs');
const outdir = join(clone, 'dist'); // where DIST will be moved: from there the maps name the sources
const { outputFiles } = await build({
  absWorkingDir: clone,
  entryPoints: PROGRAMS,
  // The first is large, and few load it. The second is no ES module, and import() of one that is bundled has no names.
  external: ['@kubernetes/client-node', 'yaml'],
  outdir,
  outbase: '.',
  write: false,
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  banner: { js: REQUIRE },
});
for (const { path, contents } of outputFiles) {
  const file = join(dist, relative(outdir, path));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, contents);
}
