import { dirname, join, normalize } from 'node:path';

import { floors, homes, openToTests } from '../floors.js';
import { listImports, isTestCode, type Source } from './source-files.js';

interface Room {
  readonly folder: string;
  readonly floor: number;
}

/** The room a file lives in: the longest folder of the table that its path begins with, or a folder of `<top>/*`. */
function findRoom(path: string): Room | undefined {
  const rooms = floors.flatMap((folders, floor) => folders.map(folder => ({ folder, floor })));
  const named = rooms.filter(({ folder }) => path === folder || path.startsWith(`${folder}/`));
  if (named.length > 0) return named.sort((a, b) => b.folder.length - a.folder.length)[0];
  const [top, folder] = path.split('/');
  const others = rooms.find(room => room.folder === `${top}/*`);
  return others && { folder: `${top}/${folder}`, floor: others.floor };
}

function toPackageName(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string);
}

/** Whether the top folder of a path is a room itself and has rooms inside. */
function isSplit(path: string): boolean {
  return floors.some(folders => folders.includes(path.split('/')[0] as string));
}

/** What one import of one file does wrong, if anything. */
export function judgeImport(path: string, specifier: string): string | undefined {
  const from = findRoom(path);
  if (!from) return `${path}: its folder is on no floor of hack/floors.ts`;

  if (!specifier.startsWith('.')) {
    const home = homes[toPackageName(specifier)];
    const atHome = !home || home.some(folder => path.startsWith(`${folder}/`)) || path.endsWith('.test.ts');
    return atHome ? undefined : `${path}: ${toPackageName(specifier)} lives in ${home.join(', ')} only`;
  }

  const target = normalize(join(dirname(path), specifier));
  const to = findRoom(target);
  if (!to) return `${path}: imports ${target}, which is on no floor`;
  if (to.folder === from.folder) return undefined;
  if (to.floor < from.floor) return undefined;
  if (isTestCode(path) && openToTests.some(folder => target.startsWith(`${folder}/`))) return undefined;
  // The tests of a room inside `api` call it through the whole API.
  if (isTestCode(path) && from.folder.split('/')[0] === target.split('/')[0] && isSplit(target)) return undefined;
  return `${path}: imports ${target}, which is not on a lower floor`;
}

/** Imports that point up or sideways, and packages away from home. */
export function checkFloors(sources: readonly Source[]): string[] {
  return sources.flatMap(source => listImports(source).flatMap(specifier => judgeImport(source.path, specifier) ?? []));
}
