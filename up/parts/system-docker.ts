import { existsSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';

import { DockerEngine } from '../../pkg/agent/index.js';
import type { ChorePart } from '../part.js';

/** Where this machine's own engine listens, if it has one that answers. */
export async function findSystemDocker(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const host = environment['DOCKER_HOST'] || 'unix:///var/run/docker.sock';
  if (host.startsWith('unix://') && !existsSync(host.slice('unix://'.length))) return undefined;
  const engine = new DockerEngine({ host });
  try {
    const facts = await Promise.race([engine.facts(), after(3_000, undefined, { ref: false })]);
    return facts && host;
  } catch {
    return undefined; // an engine that does not answer is as good as none
  } finally {
    await engine.close();
  }
}

/** The engine that this machine already has. */
export function systemDockerPart(host: string): ChorePart {
  return {
    kind: 'chore',
    name: 'engine',
    title: 'container engine of this machine',
    remedy: 'Start Docker, or use "moor up --engine simulated".',
    recipe: () => host,
    run: async () => ({ facts: { docker: host }, detail: host }),
  };
}
