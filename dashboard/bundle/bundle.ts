import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { build } from 'esbuild';

import { clone } from '../../pkg/version/index.js';

/** Bundles the dashboard of this clone into a folder. The page names its assets by fixed names: nothing is cached. */
export async function bundleDashboard(folder: string): Promise<void> {
  const source = join(clone, 'dashboard');
  const { outputFiles } = await build({
    entryPoints: { main: join(source, 'main.tsx'), style: join(source, 'style.css') },
    tsconfig: join(source, 'tsconfig.json'),
    outdir: folder,
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent', // a failure is thrown, with all that was found
  });
  mkdirSync(folder, { recursive: true });
  for (const { path, contents } of outputFiles) putWhole(join(folder, basename(path)), Buffer.from(contents));
  for (const name of ['index.html', 'icon.svg']) putWhole(join(folder, name), readFileSync(join(source, name)));
}

/** Writes a file that is not there or is another one. Whoever serves or packs the folder meanwhile reads the old or the new one. */
function putWhole(path: string, content: Buffer): void {
  try {
    if (readFileSync(path).equals(content)) return;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
  }
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content);
  renameSync(draft, path);
}
