import type { SimWorld } from '../../dev/simulation/index.js';
import type { SimCluster } from './cluster.js';

/** One thing that goes wrong. */
type Trouble = (cluster: SimCluster) => void;

const kill: Trouble = ({ world, seats }) => world.pick(seats).restart(world.between(100, 15_000));

/** Long enough for the node to count as failed, and often for it to be lost, while its containers go on. */
const loseAgent: Trouble = ({ world, machines }) => world.pick(machines).seat.restart(world.between(16_000, 45_000));

const freeze: Trouble = ({ world, seats }) => world.pick(seats).life?.freeze(world.between(500, 15_000));

/** Its service manager stops an agent: its containers go on. */
const stop: Trouble = ({ world, machines }) => world.pick(machines).seat.stop(world.between(500, 45_000));

const standStill: Trouble = ({ world, machines }) => world.pick(machines).standStill(world.between(500, 45_000));

const spoilState: Trouble = ({ world, machines }) => world.pick(machines).spoilState(world.between(500, 20_000));

/** A disk with volumes, or one of the volumes, is full for a while. */
const fill: Trouble = ({ world, machines }) => {
  const { disk } = world.pick(machines);
  fillUp(world, world.pick([disk, ...disk.held.values()]), world.between(500, 20_000));
};

/** Nothing more can be written to a disk, or to a volume, for so long. */
export function fillUp(world: SimWorld, place: { isFull: boolean }, forMs: number): void {
  place.isFull = true;
  world.after(forMs, 'there is room again', () => {
    place.isFull = false;
  });
}

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
  const machine = world.pick(machines);
  machine.engine.setReachable(false);
  world.after(world.between(100, ENGINE_AWAY_MS), 'an engine is back', () =>
    machine.engine.setReachable(!machine.isOff),
  );
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
  stop,
  standStill,
  spoilState,
  fill,
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
