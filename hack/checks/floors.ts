import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

import { floors, homes, openToTests } from '../floors.js';
import { sourceFiles } from './source-files.js';

const IMPORT = /(?:^|\n)\s*(?:import|export)\s(?:[^;'"]*?\sfrom\s)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;

interface Room {
  readonly folder: string;
  readonly floor: number;
}

/** The room a file lives in: the longest folder of the table that its path begins with. */
function roomOf(path: string): Room | undefined {
  const rooms = floors.flatMap((folders, floor) => folders.map(folder => ({ folder, floor })));
  return rooms
    .filter(({ folder }) => path === folder || path.startsWith(`${folder}/`))
    .sort((a, b) => b.folder.length - a.folder.length)[0];
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string);
}

/** Whether a file exists for tests only: a test, a contract that several tests run, or a helper of tests. */
export function isTestCode(path: string): boolean {
  return /\.(?:test|testing|contract)\.ts$/.test(path);
}

/** What one import of one file does wrong, if anything. */
export function judgeImport(path: string, specifier: string): string | undefined {
  const from = roomOf(path);
  if (!from) return `${path}: its folder is on no floor of hack/floors.ts`;

  if (!specifier.startsWith('.')) {
    const home = homes[packageOf(specifier)];
    const atHome = !home || home.some(folder => path.startsWith(`${folder}/`)) || path.endsWith('.test.ts');
    return atHome ? undefined : `${path}: ${packageOf(specifier)} lives in ${home.join(', ')} only`;
  }

  const target = normalize(join(dirname(path), specifier));
  const to = roomOf(target);
  if (!to) return `${path}: imports ${target}, which is on no floor`;
  if (to.folder === from.folder) return undefined;
  if (to.floor < from.floor) return undefined;
  if (isTestCode(path) && openToTests.some(folder => target.startsWith(`${folder}/`))) return undefined;
  return `${path}: imports ${target}, which is not on a lower floor`;
}

/** Imports that point up or sideways, and packages away from home. */
export function checkFloors(): string[] {
  return sourceFiles()
    .filter(path => existsSync(path))
    .flatMap(path =>
      [...readFileSync(path, 'utf8').matchAll(IMPORT)].flatMap(
        ([, from, dynamic]) => judgeImport(path, (from ?? dynamic) as string) ?? [],
      ),
    );
}
