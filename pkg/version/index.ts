/**
 * Which Mooring this is.
 *
 * @module
 */
import { readFileSync } from 'node:fs';

/** The version of this clone, from package.json: the one place that states it. */
export function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
