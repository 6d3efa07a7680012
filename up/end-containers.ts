import type { Engine } from '../pkg/agent/index.js';

const GRACE_SECONDS = 10;

/** Stops every container of these nodes, or removes it too. Answers how many there were. */
export async function endContainers(
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
