import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { ranges, splitKey } from '../../crds/keys/index.js';
import { declareRestore, hasLoss, listConfirmed, previewRestore } from '../../pkg/link/index.js';
import type { SimCluster } from './cluster.js';
import { copyActs } from './copies.js';
import type { History } from './history.js';
import { useCluster } from './users.js';
import { useVolumes } from './volumes.js';

/** How long users go on after the backup was made. */
const LOST_MS = 20_000;
/** How long it takes until the restore is declared: new leaders have looked at everything by then. */
const UNDECLARED_MS = 60_000;
/** Another one is needed where what would go has changed since it was shown, or an agent was away. */
const DECLARATIONS_MAX = 10;
/** The leaders in the backup are no more: how long until others look at everything, which may be as asked already. */
const NEW_LEADERS_MS = 30_000;

/**
 * A backup is made, users go on, and then it is restored as the guide says: the control plane is stopped, the store has an older
 * state, everything is started again, and at last the restore is declared. The agents run on all the while, and change nothing before. `settle` waits until all is as the
 * store says; then there is nothing left of what came after the backup.
 */
export async function restoreBackup(
  cluster: SimCluster,
  history: History,
  { underWayMs, inspect, settle, onRestored, onDeclared }: RestoreSteps,
): Promise<void> {
  const { world, server, machines } = cluster;
  const backup = server.save();
  const saved = listGenerations(history);
  useCluster(cluster, history, world.time + LOST_MS, 'lost');
  const known = new Set(history.entries(ranges.volumes).map(({ key }) => splitKey(key)[1]));
  // A volume that is in the backup and was deleted since has no bytes: nothing brings those back.
  const acts = cluster.mix.hasCopies ? { acts: copyActs } : {};
  const volumeUsers = { prefix: 'lost-volume', mayRemove: (id: string) => !known.has(id), ...acts };
  if (cluster.mix.hasVolumes) useVolumes(cluster, history, world.time + LOST_MS, volumeUsers);
  await world.pass(LOST_MS + underWayMs, inspect);

  const agents = new Set(machines.map(({ seat }) => seat));
  for (const seat of cluster.seats) if (!agents.has(seat)) seat.life?.kill();
  await world.pass(underWayMs, inspect);
  server.restore(backup);
  onRestored();
  cluster.start();
  await expectHeld(cluster, inspect);
  await declareBlindly(cluster, inspect);
  await declareShown(cluster, inspect);
  onDeclared();
  await settle();
  await world.pass(NEW_LEADERS_MS, inspect);
  expect(listGenerations(history), 'what the restored store has').to.deep.equal(saved);
}

/** Nothing goes that the backup does not know, whatever the loops make of it, and whoever is started anew: somebody may have restored the wrong one. */
async function expectHeld({ world, machines }: SimCluster, inspect: () => void): Promise<void> {
  const look = expectNothingGoes(machines, inspect, 'before the restore was declared');
  const part = UNDECLARED_MS / 2;
  await world.pass(part, look);
  const { seat } = world.pick(machines);
  seat.life?.kill();
  seat.start();
  await world.pass(part, look);
}

/** Somebody declares the restore without a look at what would go: nothing does, where there is anything. */
async function declareBlindly({ world, server, machines }: SimCluster, inspect: () => void): Promise<void> {
  const going = (await previewRestore(server)).nodes.filter(hasLoss).map(({ name }) => name);
  const holding = machines.filter(({ name }) => going.includes(name));
  await declareRestore(server, world.clock);
  await world.pass(UNDECLARED_MS / 2, expectNothingGoes(holding, inspect, 'by a declaration that does not name it'));
}

/** As an operator does it: what is shown is declared, until every agent does again what it is told. */
export async function declareShown({ world, server }: SimCluster, inspect: () => void): Promise<void> {
  for (let round = 0; round < DECLARATIONS_MAX; round++) {
    const preview = await previewRestore(server);
    if (preview.nodes.every(({ hasAnswered, setBack }) => hasAnswered && !setBack)) return;
    await declareRestore(server, world.clock, listConfirmed(preview));
    await world.pass(UNDECLARED_MS / 2, inspect);
  }
}

function expectNothingGoes(machines: SimCluster['machines'], inspect: () => void, why: string): () => void {
  const before = machines.map(({ name, engine, disk }) => {
    return { name, ids: engine.containers.map(({ id }) => id), removed: disk.removed.length };
  });
  return () => {
    inspect();
    for (const [index, { engine, disk }] of machines.entries()) {
      const { name, ids, removed } = before[index]!;
      const there = new Set(engine.containers.map(({ id }) => id));
      const gone = ids.filter(id => !there.has(id));
      expect(gone, `containers on ${name} that went ${why}`).to.deep.equal([]);
      expect(disk.removed.slice(removed), `volumes on ${name} that went ${why}`).to.deep.equal([]);
    }
  };
}

interface RestoreSteps {
  /** No request is on its way for longer. */
  readonly underWayMs: number;
  readonly inspect: () => void;
  readonly settle: () => Promise<unknown>;
  /** Told when the store has its older state. */
  readonly onRestored: () => void;
  /** Told when that counts. */
  readonly onDeclared: () => void;
}

function listGenerations(history: History): readonly string[] {
  return history
    .all<StoredDeployment>(ranges.deployments)
    .map(({ metadata: { uid, generation } }) => `${uid} ${generation}`)
    .toSorted();
}
