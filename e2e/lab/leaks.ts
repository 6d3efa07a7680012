import { type Canary, commandLines, filesBelow, type Find, findCanaries, type Place } from './canary.js';
import type { ControlPlane } from './control-plane.js';

/**
 * Where values are found that only the secrets store and the engine may have: in the files of a plane, its logs, states
 * and database with its history among them, on command lines, and in what else a story has kept.
 */
export async function leaksIn(
  plane: ControlPlane,
  canaries: readonly Canary[],
  more: readonly Place[] = [],
): Promise<readonly Find[]> {
  const files = await filesBelow(plane.folder, ['engine']);
  for (const must of [/^etcd\//, /\.log$/]) {
    if (!files.some(({ name }) => must.test(name))) throw new Error(`there is no file ${must} to search`);
  }
  return findCanaries(canaries, [...files, ...(await commandLines()), ...more]);
}
