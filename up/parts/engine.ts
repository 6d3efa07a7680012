import { existsSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';

import { DockerdProcess } from '../programs/index.js';
import { DockerEngine, type Engine } from '../../pkg/agent/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { type Home, listLocalNodes } from '../home/home.js';
import { type TaskPart, PartFault, type ProcessPart } from './part.js';
import { adviseInstall } from '../home/wording.js';

/** The address of this machine's own engine. Undefined when none answers. */
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
    return undefined; // an engine that does not answer cannot be used
  } finally {
    await engine.close();
  }
}

/** Throws when no container engine answers and this user can start none. */
export async function checkEngine(
  home: Home,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot || (!existsSync(findDockerdFolder(home)) && (await findSystemDocker(environment)) !== undefined)) return;
  throw new PartFault(
    'no container engine answers, and only root can start one: start Docker, run "moor up" as root, or use "moor up --engine simulated"',
  );
}

/** The engine that this machine already has. */
export function createSystemDockerPart(host: string): TaskPart {
  return {
    kind: 'chore',
    name: 'engine',
    title: 'container engine of this machine',
    remedy: 'Start Docker, or use "moor up --engine simulated".',
    recipe: () => host,
    run: async () => ({ facts: { docker: host }, detail: host }),
  };
}

const NOT_ISOLATED =
  'WARNING: iptables cannot be used here, so containers of all tenants reach each other and none reaches the internet';

/** A container engine of our own, for machines without one. Containers go on when it is restarted. */
export const dockerdPart: ProcessPart = {
  kind: 'process',
  name: 'dockerd',
  title: 'container engine (our own dockerd)',
  remedy: `${adviseInstall('Docker', 'docker.io')}, start it yourself, or use "moor up --engine simulated".`,
  graceMs: 30_000,
  recipe: () => '',
  async start({ home, clock }) {
    if (process.getuid?.() !== 0) throw new PartFault('no container engine was found, and only root can start one');
    const dockerd = await DockerdProcess.start(options(home, clock));
    const detail = dockerd.separates ? dockerd.host : `${dockerd.host}. ${NOT_ISOLATED}`;
    return { pid: dockerd.pid!, facts: { docker: dockerd.host }, detail };
  },
};

/** Ends the engine with all its containers, also what it left behind when it was killed. */
export async function stopDockerd(home: Home, clock: Clock): Promise<void> {
  await (await DockerdProcess.start(options(home, clock))).stop();
}

/** Removes the engine with everything it holds: mounts and networks included, which removing the folder would leave. */
export async function destroyDockerd(home: Home, clock: Clock): Promise<void> {
  await (await DockerdProcess.start(options(home, clock))).destroy();
}

/** Where the engine of this home keeps everything, whether it runs or not. */
export function findDockerdFolder(home: Home): string {
  return home.path('docker');
}

function options(home: Home, clock: Clock) {
  return { folder: findDockerdFolder(home), liveRestore: true, detached: true, clock };
}

const GRACE_SECONDS = 10;

/** Stops every container of these nodes, or removes it too. Resolves with their number. */
export async function stopContainers(
  engine: Pick<Engine, 'list' | 'stop' | 'remove'>,
  nodeIds: readonly string[],
  { remove }: { readonly remove: boolean },
): Promise<number> {
  const containers = (await Promise.all(nodeIds.map(id => engine.list(id)))).flat();
  await Promise.all(
    containers.map(async ({ id }) => {
      await engine.stop(id, GRACE_SECONDS);
      if (remove) await engine.remove(id);
    }),
  );
  return containers.length;
}

/**
 * Stops the containers of our nodes on this machine's own engine, or removes them. Resolves with their number.
 *
 * An agent that ends leaves its containers running; `moor down` ends them too. On an engine of our own they end with it.
 */
export async function stopLocalContainers(
  home: Home,
  { remove }: { readonly remove: boolean },
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const nodes = listLocalNodes(home).flatMap(({ id }) => id ?? []);
  if (nodes.length === 0 || existsSync(findDockerdFolder(home))) return 0;
  const host = await findSystemDocker(environment);
  if (host === undefined) return 0;

  const engine = new DockerEngine({ host });
  try {
    return await stopContainers(engine, nodes, { remove });
  } finally {
    await engine.close();
  }
}
