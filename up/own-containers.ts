import { existsSync, readdirSync } from 'node:fs';

import { DockerEngine } from '../pkg/agent/index.js';
import type { Home } from './home.js';
import { readJson } from './json-file.js';
import { dockerdFolder } from './parts/dockerd.js';
import { findSystemDocker } from './parts/system-docker.js';

const GRACE_SECONDS = 10;

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
  const nodes = enrolledNodes(home);
  if (nodes.length === 0 || existsSync(dockerdFolder(home))) return 0;
  const host = await findSystemDocker(environment);
  if (host === undefined) return 0;

  const engine = new DockerEngine({ host });
  try {
    const containers = (await Promise.all(nodes.map(node => engine.list(node)))).flat();
    await Promise.all(
      containers.map(async ({ id }) => {
        await engine.stop(id, GRACE_SECONDS);
        if (remove) await engine.remove(id);
      }),
    );
    return containers.length;
  } finally {
    await engine.close();
  }
}

function enrolledNodes(home: Home): readonly string[] {
  const folder = home.path('agents');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap(name => {
    const kept = readJson<{ readonly node: { readonly id: string } }>(home.path('agents', name, 'node.json'));
    return kept ? [kept.node.id] : [];
  });
}
