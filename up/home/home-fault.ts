import { mkdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { formatBytes } from '../../crds/grammar/index.js';
import { Fault } from '../../pkg/fault/index.js';

/** etcd alone reserves 128 MiB for its log. */
const LEAST_FREE_BYTES = 256 * 2 ** 20;

/** The folder of the all-in-one, or a file in it, cannot be used. The message says why and what to do, in one line. */
class HomeFault extends Fault {
  readonly retriable = false;
}

const ELSEWHERE = 'set MOORING_HOME to a folder that can be written';

/** Converts an error of the file system. Undefined for any other error. */
export function toHomeFault(thrown: unknown, folder: string): HomeFault | undefined {
  const { code, path = folder } = thrown as NodeJS.ErrnoException;
  const because = (text: string) => new HomeFault(text, { cause: thrown });
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return because(`the disk of ${folder} is full: free some space, or set MOORING_HOME to a folder on another disk`);
    case 'EACCES':
    case 'EPERM':
      return because(`this user may not write ${path}: run moor as the user it belongs to, or ${ELSEWHERE}`);
    case 'EROFS':
      return because(`${path} is on a file system that cannot be written: ${ELSEWHERE}`);
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'ENAMETOOLONG':
    case 'ELOOP':
      return because(`${path} cannot be created (${code}): ${ELSEWHERE}`);
    default:
      return undefined;
  }
}

/**
 * Makes a folder and the folders above it. Node's own recursive `mkdir` never returns where the file system answers that
 * the parent is missing although it exists, as `/proc` does.
 */
export function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** Why nothing can be written into a folder, with the remedy. Undefined when it can be. */
export function findHomeFault(folder: string): HomeFault | undefined {
  const probe = join(folder, `.probe-${process.pid}`);
  try {
    writeFileSync(probe, Buffer.alloc(65_536), { mode: 0o600 });
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize >= LEAST_FREE_BYTES) return undefined;
    const [free, least] = [bavail * bsize, LEAST_FREE_BYTES].map(formatBytes);
    return new HomeFault(
      `${folder} has ${free} of free disk space and needs ${least}: free some space, or set MOORING_HOME to a folder on another disk`,
    );
  } catch (thrown) {
    return toHomeFault(thrown, folder);
  } finally {
    rmSync(probe, { force: true });
  }
}

/** Reads a JSON document. Undefined when the file does not exist; a fault with the remedy when it is damaged. */
export function readDocument<T>(path: string, remedy: string, isSound: (document: T) => boolean): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw toHomeFault(thrown, dirname(path)) ?? thrown;
  }
  const document = parseJson(text) as T | undefined;
  if (document !== undefined && document !== null && isSound(document)) return document;
  throw new HomeFault(`${path} is damaged: ${remedy}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
