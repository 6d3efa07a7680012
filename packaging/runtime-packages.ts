import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { clone } from '../pkg/version/index.js';

/** A package of npm that the product needs when it runs. */
export interface RuntimePackage {
  readonly name: string;
  readonly version: string;
  /** Below the clone and below every installation: `node_modules/…`. */
  readonly path: string;
  /** Names of packages that it works with and does without. */
  readonly optionalPeers: readonly string[];
}

/** Those that package-lock.json has, without what only development needs. */
export function listRuntimePackages(): readonly RuntimePackage[] {
  const lock = JSON.parse(readFileSync(join(clone, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { version: string; dev?: true; peerDependenciesMeta?: object }>>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, { version, peerDependenciesMeta = {} }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      path,
      optionalPeers: Object.keys(peerDependenciesMeta),
    }));
}
