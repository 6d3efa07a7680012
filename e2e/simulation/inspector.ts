import type { ContainerWatch } from './availability.js';
import type { SimCluster } from './cluster.js';
import { expectCopies } from './copies.js';
import type { FailpointKills } from './failpoints.js';
import type { History } from './history.js';
import { inspectSecrets } from './inspect-secrets.js';
import { expectUnclaimed, inspectContainers } from './inspection.js';
import type { AttemptWatch } from './jobs.js';
import type { VolumeWatch } from './volume-watch.js';

/** An agent notices within 25 s that its engine does not answer; the rest is for a new leader. */
const UNCLAIMED_AFTER_MS = 45_000;

/** What has to be looked at beside the history. */
interface Watches {
  readonly attempts: AttemptWatch;
  readonly containers: ContainerWatch;
  readonly kills: FailpointKills;
  readonly volumes: VolumeWatch | undefined;
}

/** Looks at the containers only when an engine has done something, or a credential has changed. */
export function createInspector(cluster: SimCluster, history: History, watches: Watches) {
  const { attempts, containers, kills, volumes } = watches;
  let seen = -1;
  let since: number | undefined;
  let longest = 0;
  const lostSince = new Map<string, number>();
  if (volumes && cluster.mix.hasCopies) cluster.expectMore = () => expectCopies(cluster, history, volumes.copies);
  const inspect = () => {
    attempts.look(cluster);
    history.inspect();
    kills.inspect();
    inspectEngines(cluster, history, lostSince);
    let changes = history.secretChanges;
    for (const { engine, disk } of cluster.machines) changes += engine.changes + disk.changes;
    if (changes === seen) return;
    seen = changes;
    const { time } = cluster.world;
    containers.look(cluster, history);
    volumes?.look();
    inspectSecrets(cluster, history);
    const doubled = inspectContainers(cluster, history) > 0;
    if (since !== undefined) longest = Math.max(longest, time - since);
    since = doubled ? (since ?? time) : undefined;
  };
  return { inspect, doubledMs: () => longest };
}

/** Nothing is ever claimed of containers whose engine has not answered for longer than its agent may take to notice. */
function inspectEngines({ world, machines }: SimCluster, history: History, lostSince: Map<string, number>): void {
  for (const { name, engine } of machines) {
    if (engine.isReachable) lostSince.delete(name);
    else if (!lostSince.has(name)) lostSince.set(name, world.time);
    else if (world.time - lostSince.get(name)! > UNCLAIMED_AFTER_MS) expectUnclaimed(name, history);
  }
}
