import { backoffMs, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { HeldContainer, NodeIdentity } from '../../link/index.js';
import { type AgentEnv, type AgentOptions, STOP_GRACE_SECONDS } from '../agent-env.js';
import { readStateFile } from '../disk.js';
import type { ContainerStatus } from '../engine/index.js';
import type { NodeHold } from '../membership/node-hold.js';

type OrphansEnv = Pick<AgentEnv, 'engine' | 'log'>;
type OrphansOptions = Pick<AgentOptions, 'stopGraceSeconds'>;

/** The former node identities whose images have been removed. */
const PRUNED_FILE = 'pruned.json';
/** What the control plane can be asked about: anything else in a label is not an id that it gave. */
const NODE_ID = /^node_[0-9A-Za-z_]{1,59}$/;
const ASKED_MAX = 100;
const DOUBLES_MAX = 500;

type FindGone = (ids: readonly string[]) => Promise<readonly string[]>;

const ORPHANS_MS = 300_000;
const BACKOFF = { firstMs: 250, capMs: 60_000 };

/** Removes what deleted nodes of the tenant have left on the engine: at once, then every few minutes. */
export async function keepRemovingOrphans(
  { node, hold, signal }: { readonly node: NodeIdentity; readonly hold: NodeHold; readonly signal: AbortSignal },
  findGone: FindGone,
  env: AgentEnv,
  options: OrphansOptions,
): Promise<void> {
  const { clock, random, log } = env;
  for (let failures = 0; !signal.aborted; ) {
    let waitMs = ORPHANS_MS;
    await hold.untilHeld(signal);
    try {
      await removeOrphans(node, findGone, env, options);
      failures = 0;
    } catch (thrown) {
      failures++;
      const about = { attempt: failures, error: asError(thrown) };
      log.warn('could not look for containers of deleted nodes, retrying', about);
      waitMs = backoffMs(failures, BACKOFF, random);
    }
    await sleep(clock, waitMs, signal);
  }
}

/**
 * Removes the containers and networks of nodes that the tenant of this node no longer has.
 *
 * An agent that has lost its state folder, and whose node was deleted, does not know its former id: no other agent would remove
 * what it has left. Agents may share an engine, so only what the control plane calls gone is removed. Containers of other tenants
 * are not looked at.
 */
export async function removeOrphans(
  node: NodeIdentity,
  findGone: FindGone,
  env: OrphansEnv,
  options: OrphansOptions,
): Promise<void> {
  const orphaned = await findOrphanedNodes(node, findGone, env);
  await removeContainers(orphaned, env, { ...options, tenant: node.tenant });
}

async function findOrphanedNodes(
  node: NodeIdentity,
  findGone: FindGone,
  { engine }: Pick<OrphansEnv, 'engine'>,
): Promise<readonly string[]> {
  const found = await engine.listNodeIds(node.tenant);
  const others = found.filter(id => id !== node.id && NODE_ID.test(id)).slice(0, ASKED_MAX);
  if (others.length === 0) return [];
  const gone = new Set(await findGone(others));
  return others.filter(id => gone.has(id));
}

/** What would be removed of nodes that are no more, and of those that this machine was before. */
export async function listLeftovers(
  node: NodeIdentity,
  { former, findGone }: { readonly former: readonly string[]; readonly findGone: FindGone },
  { engine }: Pick<OrphansEnv, 'engine'>,
): Promise<readonly ContainerStatus[]> {
  const orphaned = (await findOrphanedNodes(node, findGone, { engine })).filter(id => !former.includes(id));
  const lists = await Promise.all([...orphaned, ...former].map(id => engine.list(id)));
  return lists.flat().filter(({ owner }) => owner.tenant === node.tenant || former.includes(owner.nodeId));
}

/** Removes what former owners of the machine left: containers each time, images once. */
export async function clearFormerNodes(
  former: readonly string[],
  env: Pick<AgentEnv, 'engine' | 'disk' | 'log'>,
  options: OrphansOptions,
): Promise<void> {
  const { engine, disk, log } = env;
  if (former.length === 0) return;
  await removeContainers(former, env, options);
  const pruned = (await readStateFile<readonly string[]>(disk, PRUNED_FILE, Array.isArray)) ?? [];
  if (former.every(id => pruned.includes(id))) return;

  await engine.pruneImages();
  await disk.keep(PRUNED_FILE, JSON.stringify(former));
  log.info('removed the images of former node identities');
}

/**
 * Removes every container and network of these nodes, which this machine was before or which were deleted; only those of `tenant` where
 * it is given.
 */
export async function removeContainers(
  nodeIds: readonly string[],
  { engine, log }: OrphansEnv,
  { stopGraceSeconds = STOP_GRACE_SECONDS, tenant }: OrphansOptions & { readonly tenant?: string },
): Promise<void> {
  for (const nodeId of nodeIds) {
    for (const { id, owner, state } of await engine.list(nodeId)) {
      if (tenant !== undefined && owner.tenant !== tenant) continue;
      if (state === 'running') await engine.stop(id, stopGraceSeconds);
      await engine.remove(id);
      log.info('removed a container of a node that is no more', { replica: owner.replica, container: id });
    }
    await engine.removeNetworks(nodeId, () => false);
  }
}

/**
 * Stops the containers of this node that the agent which has it runs too, or that are not wanted any more, as the control plane
 * says. They are not removed: an operator may want to look at them, and they can be started again.
 */
export async function stopDoubles(
  node: NodeIdentity,
  findDoubles: (containers: readonly HeldContainer[]) => Promise<readonly string[]>,
  { engine, log }: OrphansEnv,
  { stopGraceSeconds = STOP_GRACE_SECONDS }: OrphansOptions,
): Promise<void> {
  const running = (await engine.list(node.id)).filter(({ state }) => state === 'running');
  for (let from = 0; from < running.length; from += DOUBLES_MAX) {
    const part = running.slice(from, from + DOUBLES_MAX);
    const doubled = new Set(
      await findDoubles(part.map(({ id, owner }) => ({ replica: owner.replica, containerId: id }))),
    );
    for (const { id, owner } of part.filter(each => doubled.has(each.owner.replica))) {
      await engine.stop(id, stopGraceSeconds);
      log.warn('stopped a container that the agent which has this node runs too', {
        replica: owner.replica,
        container: id,
      });
    }
  }
}
