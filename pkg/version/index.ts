/**
 * The version of this clone of Mooring, and its folder.
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

/** The version of this clone, from package.json: the one place that states it. */
export function readProductVersion(): string {
  const manifest = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
