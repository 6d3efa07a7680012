import type { DockerEngine } from '../../pkg/agent/index.js';
import type { WatchChange } from '../../pkg/client/index.js';
import type { ShownDeployment, TenantClient } from './tenant-client.js';

/** Milliseconds from sending a deployment until a tail that was already open shows every replica running. */
export async function timeToRunning(
  client: TenantClient,
  name: string,
  workload: { readonly image: string; readonly replicas: number },
): Promise<number> {
  const took = await timeUntil<ShownDeployment>(client, '/api/v1/deployments', {
    act: () => client.apply({ name, ...workload }),
    isOver: shown => shown.name === name && shown.status?.phase === 'Running',
  });
  await client.remove(name);
  return took;
}

/** Milliseconds from the beginning of `act` until a tail of `path` that was already open shows that it is over. */
export async function timeUntil<T>(
  client: TenantClient,
  path: string,
  { act, isOver }: { readonly act: () => Promise<unknown>; readonly isOver: (shown: T) => boolean },
): Promise<number> {
  const abort = new AbortController();
  const changes = client.client.watch<T>(path, { signal: abort.signal })[Symbol.asyncIterator]();
  while ((await next(changes)).type !== 'bookmark');

  const begun = performance.now();
  const acted = act();
  for (;;) {
    const change = await next(changes);
    if ('object' in change && isOver(change.object)) break;
  }
  const took = performance.now() - begun;
  abort.abort();
  await acted;
  return took;
}

/** Containers that the engine is asked for directly, in the network of a tenant. */
interface EngineWorkload {
  readonly tenant: string;
  readonly name: string;
  readonly image: string;
  readonly count: number;
}

/** Milliseconds that the engine itself takes to create and start so many of the same containers at once. */
export async function timeEngineAlone(engine: DockerEngine, workload: EngineWorkload): Promise<number> {
  const begun = performance.now();
  const ids = await Promise.all(
    Array.from({ length: workload.count }, (_, slot) => startAlone(engine, workload, slot)),
  );
  const took = performance.now() - begun;
  await Promise.all(ids.map(id => engine.remove(id)));
  return took;
}

/**
 * Milliseconds that the engine itself takes to replace so many containers: `surge` at a time, a new one is created and
 * started, then an old one is stopped and removed.
 */
export async function timeReplacingAlone(
  engine: DockerEngine,
  workload: EngineWorkload & { readonly surge: number },
): Promise<number> {
  const { name, count, surge } = workload;
  const slots = Array.from({ length: count }, (_, slot) => slot);
  const old = await Promise.all(slots.map(slot => startAlone(engine, { ...workload, name: `${name}-old` }, slot)));
  const fresh: string[] = [];
  const begun = performance.now();
  await inLanes(surge, slots, async slot => {
    fresh.push(await startAlone(engine, workload, slot));
    await engine.stop(old[slot]!, 10);
    await engine.remove(old[slot]!);
  });
  const took = performance.now() - begun;
  await Promise.all(fresh.map(id => engine.remove(id)));
  return took;
}

/** Does all of `items`, so many at a time. */
export async function inLanes<T>(lanes: number, items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function startAlone(
  engine: DockerEngine,
  { tenant, name, image }: EngineWorkload,
  slot: number,
): Promise<string> {
  const replica = `${name}-${slot}`;
  const owner = { nodeId: 'nobody', tenant, deployment: name, deploymentUid: name, generation: 1, templateHash: '0' };
  const id = await engine.create({
    name: replica,
    image,
    environment: {},
    ports: [],
    network: `mooring-${tenant}`,
    alias: name,
    owner: { ...owner, replica, slot },
  });
  await engine.start(id);
  return id;
}

async function next<T>(changes: AsyncIterator<WatchChange<T>>): Promise<WatchChange<T>> {
  const result = await changes.next();
  if (result.done) throw new Error('the tail ended');
  return result.value;
}
