import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { VolumeReport } from '../../crds/volume/index.js';
import { type AssignmentLine, declareRestore, listConfirmed, previewRestore } from '../../pkg/link/index.js';
import { SimCluster } from './cluster.js';
import type { Machine } from './machine.js';
import { askForCopy, askForMove, giveUpCopy } from './copies.js';
import { History } from './history.js';
import { Storyteller } from './storyteller.js';
import type { Variant } from './variant.js';
import { findEnrolled } from './volume-invariants.js';
import { hearing, listAssigned } from './volume-mutants.js';
import { VolumeWatch } from './volume-watch.js';

const SEED = 1;
const SOON = { everyMs: 20 };
const HEALED_MS = { withinMs: 240_000 };
/** Every agent has had the answer to a heartbeat by then, and knows how new the store is. */
const HEARD_MS = 10_000;
/** Every loop has looked at everything by then, and every agent has done what it was told. */
const LOOKED_MS = 60_000;

/**
 * A copy is removed, made again and moved to, so that it is the newest. Then a backup is restored in which the order to remove it stands.
 */
class OldOrderStory extends Storyteller {
  #id = '';

  static async begin(variant: Variant): Promise<OldOrderStory> {
    const cluster = new SimCluster(SEED, { ...variant, pace: { mix: 'copies' } });
    const history: History = new History(cluster.server, []);
    const watch = new VolumeWatch(cluster, () => history);
    await cluster.begin();
    await cluster.world.pass(10_000, () => history.inspect());
    return new OldOrderStory({ cluster, history, watch, inspect: () => history.inspect() });
  }

  /** Answers the machine that has the newest bytes, when the older state has been there for a minute. */
  async tellUntilRestored(): Promise<Machine> {
    const { cluster } = this.parts;
    this.#id = await this.create('twin', { class: 'replicated', replicas: 2 });
    const about = { id: this.#id, tenant: this.tenant };
    const isSynced = () => (this.status(this.#id)?.copies ?? []).filter(({ state }) => state === 'synced').length === 2;
    await this.until(isSynced, 'both copies are complete', HEALED_MS);
    const { nodeId } = this.status(this.#id)!.copies[0]!;
    const machine = this.#findMachine(nodeId);

    machine.seat.life?.kill();
    await this.hear(giveUpCopy(cluster, about, machine.name));
    const isLeaving = () => this.status(this.#id)?.leaving?.includes(nodeId) === true;
    await this.until(isLeaving, 'the copy is ordered away', SOON);
    const backup = cluster.server.save();

    machine.seat.start();
    await this.until(() => !machine.disk.held.has(this.#id) && !isLeaving(), 'the copy is removed');
    await this.hear(askForCopy(cluster, about, machine.name));
    await this.until(isSynced, 'it is made again', HEALED_MS);
    await this.hear(askForMove(cluster, about, machine.name));
    const isMoved = () => this.status(this.#id)?.primaryNode === nodeId && this.status(this.#id)?.phase === 'Ready';
    await this.until(isMoved, 'it is the primary', HEALED_MS);
    await this.pass(HEARD_MS);

    const agents = new Set(cluster.machines.map(({ seat }) => seat));
    for (const seat of cluster.seats) if (!agents.has(seat)) seat.life?.kill();
    await this.pass(5_000);
    cluster.server.restore(backup);
    cluster.start();
    await this.pass(LOOKED_MS);
    return machine;
  }

  async declare(): Promise<void> {
    const { server, world } = this.parts.cluster;
    await declareRestore(server, world.clock, listConfirmed(await previewRestore(server)));
    await this.pass(LOOKED_MS);
  }

  hasBytes(machine: Machine): boolean {
    return machine.disk.held.has(this.#id);
  }

  report(machine: Machine): VolumeReport | undefined {
    const { history } = this.parts;
    const id = this.status(this.#id)?.leaving?.find(each => this.#findMachine(each) === machine);
    return id === undefined ? undefined : history.get(keys.volumeReport(this.tenant, this.#id, id));
  }

  end(): Promise<void> {
    this.parts.cluster.end();
    return this.parts.cluster.world.rest();
  }

  #findMachine(nodeId: string): Machine {
    const { cluster, history } = this.parts;
    return cluster.machines.find(({ name }) => name === findEnrolled(nodeId, history)?.name)!;
  }
}

/** Agents of which an order to remove bytes counts whatever epoch it is of. */
const obeysOldOrders = hearing(line => {
  const volumes = listAssigned(line)?.map(volume =>
    volume.isDeleted ? { ...volume, removedIn: Number.MAX_SAFE_INTEGER, lineage: [] } : volume,
  );
  return volumes ? ({ ...line, volumes } as AssignmentLine) : line;
});

describe('an old order to remove what is the newest copy by now', () => {
  const tell = async (variant: Variant) => {
    const story = await OldOrderStory.begin(variant);
    try {
      const machine = await story.tellUntilRestored();
      const before = story.hasBytes(machine);
      await story.declare();
      return { before, after: story.hasBytes(machine), report: story.report(machine) };
    } finally {
      await story.end();
    }
  };

  it('comes back with a backup, and removes nothing, before the restore is declared nor after', async () => {
    const { before, after, report } = await tell({});
    expect([before, after]).to.deep.equal([true, true]);
    expect(report).to.include({ state: 'failed', epoch: 2 });
    expect(report?.message).to.match(/earlier epoch.*bytes are kept/);
  });

  it('is found out where an agent does not compare it with what it has', async () => {
    const { before, after } = await tell(obeysOldOrders);
    expect([before, after]).to.deep.equal([true, false]);
  });
});
