import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { build, type Plugin } from 'esbuild';

import { clone } from '../pkg/version/index.js';

/** Where what is bundled will be in the end: from there the maps name the sources. */
const outdir = join(clone, 'dist');

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

/**
 * Puts each source, as `api/main.ts`, with all that it always needs into few files in `dist`: in place of the one that was
 * compiled from it, and in the folder `chunks` there.
 */
export async function bundle(sources: readonly string[], dist: string): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: clone,
    entryPoints: [...sources],
    external: LEFT,
    plugins: [undiciParts],
    // package.json says that no file is needed for what it does when it is loaded.
    logOverride: { 'ignored-bare-import': 'error' },
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
}
