import { expect } from 'chai';

import type { SimCluster } from './cluster.js';
import type { Machine } from './machine.js';

/** A lease of a node, and what its agent and a new leader need. */
const LEASE_MS = 25_000;
/** After so long an agent that is refused stops what the other one runs too; and what it needs to look for it. */
const DOUBLED_MS = 240_000;

/**
 * A machine is copied with its agent's identity. While the agent of the original lives, the copy makes nothing. When it is away the
 * copy has the node; the original comes back, is refused, and does not run what the copy runs for ever. Then the copy is
 * switched off.
 */
export async function duplicateMachine(cluster: SimCluster, inspect: () => void): Promise<void> {
  const { world, machines } = cluster;
  const busy = machines.filter(({ engine }) => engine.containers.length > 0);
  if (busy.length === 0) return;
  const original = world.pick(busy);
  const copy = cluster.copy(original);
  copy.seat.start();
  await world.pass(LEASE_MS, inspect);
  expect(copy.engine.changes, `what the copy of ${original.name} did beside its original`).to.equal(0);

  // Shorter than the time after which a node is lost: nothing moves to other machines.
  original.seat.life?.isolate(LEASE_MS);
  await world.pass(LEASE_MS, inspect);
  await world.pass(DOUBLED_MS, inspect);
  expect(listDoubled(original, copy), `slots that run on ${original.name} and on its copy`).to.deep.equal([]);
  copy.seat.life?.kill();
  await world.pass(LEASE_MS, inspect); // until then the copy has the node
}

/** The slots of which a container runs on both. */
function listDoubled(...machines: readonly [Machine, Machine]): readonly string[] {
  const [one, other] = machines.map(({ engine }) => {
    const running = engine.containers.filter(({ state }) => state === 'running');
    return running.map(({ owner }) => `${owner.deploymentUid} slot ${owner.slot}`);
  });
  return one!.filter(slot => other!.includes(slot));
}
