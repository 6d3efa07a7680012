import { expect } from 'chai';

import { declareRestore } from '../../pkg/link/index.js';
import { declareShown } from './backup.js';
import { SimCluster } from './cluster.js';
import { askForMove } from './copies.js';
import { History } from './history.js';
import type { Machine } from './machine.js';
import { instead } from './mutants.js';
import { Storyteller } from './storyteller.js';
import type { Variant } from './variant.js';
import { findEnrolled } from './volume-invariants.js';
import { within } from './volume-mutants.js';
import { VolumeWatch } from './volume-watch.js';

const SEED = 1;
const HEALED_MS = { withinMs: 240_000 };
const [BOTH, LOST, KEPT] = [1, 2, 3];

/**
 * A volume moves after a backup was taken. The backup is restored while nobody is there who could tell, and a copy that has not seen the move is
 * promoted, in an epoch of the same number. Then the others are back.
 */
class ReissuedEpochStory extends Storyteller {
  #id = '';

  static async begin(variant: Variant): Promise<ReissuedEpochStory> {
    const cluster = new SimCluster(SEED, { ...variant, pace: { mix: 'copies' } });
    const history: History = new History(cluster.server, []);
    const watch = new VolumeWatch(cluster, () => history);
    await cluster.begin();
    await cluster.world.pass(10_000, () => history.inspect());
    return new ReissuedEpochStory({ cluster, history, watch, inspect: () => history.inspect() });
  }

  /** Answers what the copy of the lost history holds in the end, in all that is on its disk, and what is told of it. */
  async tell() {
    const { cluster } = this.parts;
    this.#id = await this.create('twin', { class: 'replicated', replicas: 2 });
    const copies = () => this.status(this.#id)?.copies ?? [];
    await this.until(() => copies().filter(({ state }) => state === 'synced').length === 2, 'the copies', HEALED_MS);
    const former = this.#find(this.status(this.#id)!.primaryNode);
    const [moved, kept] = copies().map(({ nodeId }) => this.#find(nodeId)) as [Machine, Machine];
    this.#write(former, BOTH);
    await this.until(() => [moved, kept].every(each => this.#has(each, BOTH)), 'what is written is copied', HEALED_MS);
    const backup = cluster.server.save();

    for (const { seat } of cluster.machines) if (seat !== former.seat && seat !== moved.seat) seat.life?.kill();
    await this.hear(askForMove(cluster, { id: this.#id, tenant: this.tenant }, moved.name));
    await this.#untilServed(moved);
    this.#write(moved, LOST);
    await this.until(() => this.#has(former, LOST), 'the former primary has a copy', HEALED_MS);
    const { epoch } = this.status(this.#id)!;

    for (const { life } of cluster.seats) life?.kill();
    await this.pass(5_000);
    cluster.server.restore(backup);
    const agents = new Set(cluster.machines.map(({ seat }) => seat));
    for (const seat of cluster.seats) if (!agents.has(seat) || seat === kept.seat) seat.start();
    await this.#untilServed(kept);
    expect(this.status(this.#id)?.epoch, 'issued again').to.equal(epoch);
    this.#write(kept, KEPT);

    await declareRestore(cluster.server, cluster.world.clock);
    cluster.start();
    await declareShown(cluster, this.parts.inspect);
    await this.until(() => this.#has(former, KEPT), 'it has a copy of the one that is kept', HEALED_MS);
    await this.pass(60_000);
    const divergent = this.status(this.#id)?.divergent ?? [];
    return {
      hasLost: [former, moved].map(each => this.#has(each, LOST)),
      isServed: [moved, former].every(each => this.#has(each, KEPT)),
      told: divergent.map(each => [this.#find(each.nodeId) === former ? 'copy' : 'primary', each.epoch === epoch]),
    };
  }

  end(): Promise<void> {
    this.parts.cluster.end();
    return this.parts.cluster.world.rest();
  }

  #untilServed(machine: Machine): Promise<void> {
    const isSo = () => {
      const { primaryNode, phase } = this.status(this.#id) ?? {};
      return phase === 'Ready' && this.#find(primaryNode) === machine;
    };
    return this.until(isSo, `${machine.name} serves it`, HEALED_MS);
  }

  #write({ disk }: Machine, record: number): void {
    disk.held.get(this.#id)!.write(record);
  }

  #has({ disk }: Machine, record: number): boolean {
    return disk.listLogs(this.#id).some(log => log.includes(record));
  }

  #find(nodeId: string | undefined): Machine {
    const { cluster, history } = this.parts;
    return cluster.machines.find(({ name }) => name === findEnrolled(nodeId, history)?.name)!;
  }
}

/** Every epoch has the same generation, and every start of an agent the same run, so that those of two histories are one. */
const ignoresHistories: Variant = {
  ...within('volume-keeper', env => ({ ...env, random: instead(env.random, 'bytes', count => Buffer.alloc(count)) })),
  agent: parts => {
    const { random } = parts;
    const bytes = (count: number) => (count === 4 ? Buffer.alloc(count) : random.bytes(count));
    return { ...parts, random: instead(random, 'bytes', bytes) };
  },
};

describe('an epoch that is issued again after a restore', () => {
  const tell = async (variant: Variant) => {
    const story = await ReissuedEpochStory.begin(variant);
    try {
      return await story.tell();
    } finally {
      await story.end();
    }
  };

  it('is told from the one that was lost: what was written in that is set aside on each machine, and told', async () => {
    const { hasLost, isServed, told } = await tell({});
    expect(hasLost).to.deep.equal([true, true]);
    expect(isServed).to.equal(true);
    expect(told).to.have.deep.members([
      ['copy', true],
      ['primary', true],
    ]);
  });

  it('is found out where neither generations nor runs tell: the copy of the lost history stands in the way', async () => {
    const outcome = await tell(ignoresHistories).catch((thrown: Error) => thrown.message);
    expect(outcome).to.include('it has a copy of the one that is kept: not within');
  });
});
