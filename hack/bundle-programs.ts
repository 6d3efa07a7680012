/**
 * `node dist/hack/bundle-programs.js DIST`: puts each program, with all it always needs, into few files in `DIST`: in place of
 * the one that was compiled from the same source, and in `chunks`. What a program loads late is a file of its own still.
 * For the tests, which run as they were compiled, typebox becomes one file.
 *
 * To find and read some 700 files was more than half of the time that a program took to start.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { build, type BuildOptions, type Plugin } from 'esbuild';

import { clone } from '../pkg/version/index.js';

/** The programs that share files. Those that are started most, and anew after every failure, share none: each has what it needs itself, and few files. */
const BUILDS = [
  ['api/main.ts'],
  ['controllers/main.ts'],
  ['pkg/agent/main.ts'],
  ['pkg/agent/fencer/main.ts'],
  ['bridge/main.ts', 'pkg/cli/main.ts', 'up/main.ts', 'up/supervisor-main.ts'],
];

/** The first is large, and few load it. The second is no ES module, and import() of one that is bundled has no names. */
const LEFT = ['@kubernetes/client-node', 'yaml'];

/** For packages that are not ES modules and ask for those of Node. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);";

/** What we use of undici in place of all of it. */
const undiciParts: Plugin = {
  name: 'undici-parts',
  setup: ({ onResolve }) => onResolve({ filter: /^undici$/ }, () => ({ path: join(clone, 'hack/undici-parts.js') })),
};

const FOR_NODE = {
  absWorkingDir: clone,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
} as const satisfies BuildOptions;

/** Puts these sources and what they share into `DIST`. Their maps name the sources from where they will be in the end, `dist`. */
async function bundle(entryPoints: string[], dist: string): Promise<void> {
  const outdir = join(clone, 'dist');
  const { outputFiles } = await build({
    ...FOR_NODE,
    entryPoints,
    external: LEFT,
    plugins: [undiciParts],
    // package.json says that no file is needed for what it does when it is loaded.
    logOverride: { 'ignored-bare-import': 'error' },
    outdir,
    outbase: '.',
    write: false,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    sourcemap: true,
    sourcesContent: false,
    banner: { js: REQUIRE },
  });
  for (const { path, contents } of outputFiles) {
    const file = join(dist, relative(outdir, path));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, contents);
  }
}

/** Leaves typebox as one file in `DIST/node_modules`, where only what was compiled looks: each process of tests would read its 370 files. */
async function joinTypebox(dist: string): Promise<void> {
  const folder = join(dist, 'node_modules', 'typebox');
  await build({ ...FOR_NODE, entryPoints: ['typebox'], outfile: join(folder, 'index.js') });
  const description = { name: 'typebox', type: 'module', exports: './index.js' };
  await writeFile(join(folder, 'package.json'), JSON.stringify(description));
}

const [dist] = process.argv.slice(2);
if (dist === undefined) throw new Error('name the folder of the compiled programs');
await joinTypebox(dist);
for (const programs of BUILDS) await bundle(programs, dist);
