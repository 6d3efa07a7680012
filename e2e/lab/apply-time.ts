import type { DockerEngine } from '../../pkg/agent/index.js';
import type { WatchChange } from '../../pkg/client/index.js';
import type { ShownDeployment, TenantClient } from './tenant-client.js';

/** Milliseconds from sending a deployment until a tail that was already open shows every replica running. */
export async function timeToRunning(
  desk: TenantClient,
  name: string,
  wish: { readonly image: string; readonly replicas: number },
): Promise<number> {
  const abort = new AbortController();
  const tail = desk.client.watch<ShownDeployment>('/api/v1/deployments', { signal: abort.signal });
  const changes = tail[Symbol.asyncIterator]();
  while ((await next(changes)).type !== 'bookmark');

  const begun = performance.now();
  await desk.apply({ name, ...wish });
  for (;;) {
    const change = await next(changes);
    if ('object' in change && change.object.name === name && change.object.status?.phase === 'Running') break;
  }
  const took = performance.now() - begun;
  abort.abort();
  await desk.remove(name);
  return took;
}

/** Milliseconds that the engine itself takes to create and start so many of the same containers at once. */
export async function timeEngineAlone(
  engine: DockerEngine,
  wish: { readonly tenant: string; readonly name: string; readonly image: string; readonly count: number },
): Promise<number> {
  const { tenant, name, image, count } = wish;
  const owner = { nodeId: 'nobody', tenant, deployment: name, deploymentUid: name, generation: 1, templateHash: '0' };
  const network = `mooring-${tenant}`;
  const begun = performance.now();
  const ids = await Promise.all(
    Array.from({ length: count }, async (_, slot) => {
      const replica = `${name}-${slot}`;
      const who = { ...owner, replica, slot };
      const id = await engine.create({
        name: replica,
        image,
        environment: {},
        ports: [],
        network,
        alias: name,
        owner: who,
      });
      await engine.start(id);
      return id;
    }),
  );
  const took = performance.now() - begun;
  await Promise.all(ids.map(id => engine.remove(id)));
  return took;
}

async function next<T>(changes: AsyncIterator<WatchChange<T>>): Promise<WatchChange<T>> {
  const result = await changes.next();
  if (result.done) throw new Error('the tail ended');
  return result.value;
}
