/**
 * The version of this clone of Mooring, its folder and its programs.
 *
 * @module
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this clone, whether its programs run as they stand or compiled in `dist/`. */
export const clone: string = findPackageFolder(dirname(fileURLToPath(import.meta.url)));

function findPackageFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findPackageFolder(dirname(folder));
}

/** Whether that folder is a clone with sources, rather than a package that was installed. */
export const isClone: boolean = existsSync(join(clone, 'tsconfig.json'));

/** The arguments for Node that run a program of this clone, as `api/main.ts`, the way this one runs: compiled, or from source. */
export function programArguments(main: string): readonly string[] {
  if (import.meta.url.endsWith('.js')) return [join(clone, 'dist', main.replace(/\.ts$/, '.js'))];
  return ['--import', join(clone, 'node_modules/tsx/dist/loader.mjs'), join(clone, main)];
}

/** The version of this clone, from package.json: the one place that states it. */
export function readProductVersion(): string {
  const manifest = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
