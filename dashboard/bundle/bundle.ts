import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';

import { clone } from '../../pkg/version/index.js';

/** Bundles the dashboard of this clone into a folder. The page names its assets by fixed names: nothing is cached. */
export async function bundleDashboard(folder: string): Promise<void> {
  const source = join(clone, 'dashboard');
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: { main: join(source, 'main.tsx'), style: join(source, 'style.css') },
    tsconfig: join(source, 'tsconfig.json'),
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent', // a failure is thrown, with all that was found
  });
  for (const name of ['index.html', 'icon.svg']) copyFileSync(join(source, name), join(folder, name));
}
