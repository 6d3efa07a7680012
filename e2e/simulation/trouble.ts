import type { SimCluster } from './cluster.js';

/** One thing that goes wrong. */
type Trouble = (cluster: SimCluster) => void;

const kill: Trouble = ({ world, seats }) => world.pick(seats).restart(world.between(100, 15_000));

/** Long enough for the node to count as failed, and often for it to be lost, while its containers go on. */
const loseAgent: Trouble = ({ world, machines }) => world.pick(machines).seat.restart(world.between(16_000, 45_000));

const freeze: Trouble = ({ world, seats }) => world.pick(seats).life?.freeze(world.between(500, 15_000));

const isolate: Trouble = ({ world, seats }) => world.pick(seats).life?.isolate(world.between(500, 20_000));

/** Cut off from the store only: it still answers requests, from its last known state. */
const strand: Trouble = ({ world, seats }) => world.pick(seats).life?.isolate(world.between(500, 20_000), ['store']);

const crash: Trouble = ({ world, machines }) => {
  const { engine } = world.pick(machines);
  const running = engine.containers.filter(({ state }) => state === 'running');
  if (running.length > 0) engine.crash(world.pick(running).id, 1);
};

const restartEngine: Trouble = ({ world, machines }) => world.pick(machines).engine.restart();

/** How long the engine of a machine may not answer in the storm. */
export const ENGINE_AWAY_MS = 8_000;

const hideEngine: Trouble = ({ world, machines }) => {
  const { engine } = world.pick(machines);
  engine.setReachable(false);
  world.after(world.between(100, ENGINE_AWAY_MS), 'an engine is back', () => engine.setReachable(true));
};

const troubles: readonly Trouble[] = [
  kill,
  kill,
  kill,
  loseAgent,
  loseAgent,
  freeze,
  isolate,
  strand,
  strand,
  crash,
  restartEngine,
  hideEngine,
];

/** Something goes wrong every few seconds, until `until`. */
export function makeTrouble(cluster: SimCluster, until: number): void {
  const { world } = cluster;
  if (world.time >= until) return;
  world.after(world.between(500, 5_000), 'trouble', () => {
    if (world.time >= until) return;
    world.pick(troubles)(cluster);
    makeTrouble(cluster, until);
  });
}
