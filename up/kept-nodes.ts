import { existsSync, readdirSync } from 'node:fs';

import type { Home } from './home.js';
import { readJson } from './json-file.js';

/** A node that an agent of this home has kept something of. It has an id once it is enrolled. */
export interface KeptNode {
  readonly name: string;
  readonly id: string | undefined;
}

/** Every node that was ever started in this home and not let go since. */
export function keptNodes(home: Home): readonly KeptNode[] {
  const folder = home.path('agents');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map(name => {
    const kept = readJson<{ readonly node: { readonly id: string } }>(home.path('agents', name, 'node.json'));
    return { name, id: kept?.node.id };
  });
}
