import { existsSync } from 'node:fs';

import { DockerEngine } from '../pkg/agent/index.js';
import { endContainers } from './end-containers.js';
import type { Home } from './home.js';
import { keptNodes } from './kept-nodes.js';
import { dockerdFolder } from './parts/dockerd.js';
import { findSystemDocker } from './parts/system-docker.js';

/**
 * Stops the containers of our nodes on this machine's own engine, or removes them. Answers how many there were.
 *
 * An agent that ends leaves its containers running, as it must; `moor down` is the one that means them too. On an engine of
 * our own they end with it.
 */
export async function settleContainers(
  home: Home,
  { remove }: { readonly remove: boolean },
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const nodes = keptNodes(home).flatMap(({ id }) => id ?? []);
  if (nodes.length === 0 || existsSync(dockerdFolder(home))) return 0;
  const host = await findSystemDocker(environment);
  if (host === undefined) return 0;

  const engine = new DockerEngine({ host });
  try {
    return await endContainers(engine, nodes, { remove });
  } finally {
    await engine.close();
  }
}
