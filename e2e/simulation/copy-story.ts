import { keys } from '../../crds/keys/index.js';
import type { VolumeReport } from '../../crds/volume/index.js';
import type { FailpointName } from '../../pkg/failpoint/index.js';
import { COUNTRY, type Machine } from './cluster.js';
import { askForCopy, askForMove, bringHome, cancelMove, expectCopies, giveUpCopy } from './copies.js';
import { copyPoints } from './failpoints.js';
import { fence } from './operators.js';
import { Storyteller, type StoryParts } from './storyteller.js';
import { findEnrolled } from './volume-invariants.js';
import { mountAt, rebootWithoutDisk, stopFirst } from './volumes.js';

const OWNER = 'ledger';
const ACTS = 3;
/** A node is cut off for longer than it takes until another copy is promoted. */
const CUT_MS = 80_000;
/** How long it may take until a copy is promoted whose primary was cut off, or has lost its bytes. */
const PROMOTED_WITHIN_MS = 150_000;
const REPLACED_WITHIN_MS = 700_000;
/** A move is aborted after five minutes, and a drain tries again. */
const MOVED_WITHIN_MS = 420_000;
const HEALED_WITHIN_MS = 240_000;
const WRITTEN_MS = 15_000;
/** For so long the agent of a machine that was held to be off has been back: it is not given up any more. */
const BACK_MS = 60_000;
/** Every loop knows by then where a machine is. */
const ABROAD_MS = 30_000;

/** Has a process die at its next pass of a failpoint. */
type Arm = (name: FailpointName) => void;

/**
 * While nothing else goes wrong: a volume with two copies is made and written to, and then one after the other of what may happen to
 * its machines does, drawn by the seed. After each, it must be served, written to, and copied again.
 */
export class CopyStory extends Storyteller {
  readonly #arm: Arm;
  #id = '';
  /** The machine of the last primary that another one took over from: it may have set something aside. */
  #former: Machine | undefined;

  constructor(parts: StoryParts, arm: Arm) {
    super(parts);
    this.#arm = arm;
  }

  async tell(seed: number): Promise<void> {
    const { world } = this.parts.cluster;
    const residency = world.chance(0.5) ? { residency: { country: 'DE' } } : {};
    this.#id = await this.create('twin', { class: 'replicated', replicas: 2, ...residency });
    const volumes = [mountAt(this.#id, false)];
    await this.say(OWNER, 'create', { image: 'registry.test/ledger:1', replicas: 1, volumes, rollout: stopFirst });
    await this.#heal('a volume is copied');
    const acts = [
      () => this.#cutOff(),
      () => this.#cutOff(),
      () => this.#switchOff(),
      () => this.#goAbroad(),
      () => this.#swapDisk(),
      () => this.#swapCopy(),
      () => this.#mountLate(),
      () => this.#outrun(),
      () => this.#dropCopy(),
      () => this.#dropCopy(),
      () => this.#loseTwo(),
      () => this.#move(),
      () => this.#move(),
      () => this.#moveAway(),
      () => this.#moveAway(),
    ];
    for (let turn = 0; turn < ACTS; turn++) {
      this.#arm(copyPoints[(seed + turn) % copyPoints.length]!);
      if (world.chance(0.5)) this.#arm(world.pick(copyPoints));
      // The first of each seed is the turn of one that promotes.
      await (turn === 0 ? world.pick(acts.slice(0, 4)) : world.pick(acts))();
      await this.#heal('a volume is copied again');
    }
  }

  /** Nothing is heard of the agent of the primary any more, and nobody stops what its containers write but the fencer, or itself. */
  async #cutOff(): Promise<void> {
    const { cluster } = this.parts;
    const primary = this.#findPrimary();
    const { epoch = 0 } = this.status(this.#id) ?? {};
    const { seat } = primary;
    const ways = [
      () => seat.life?.isolate(CUT_MS, ['store', 'others', 'peers']),
      () => seat.life?.isolate(CUT_MS, ['store', 'others', 'peers', 'engine']),
      () => seat.restart(CUT_MS),
      () => seat.life?.freeze(CUT_MS),
    ];
    cluster.world.pick(ways)();
    if (cluster.world.chance(0.5))
      this.#pickCopy().seat.life?.isolate(cluster.world.between(1_000, 60_000), ['store', 'others', 'peers']);
    // One that is started again, after a kill, is not cut off.
    const cut = primary.seat.life;
    const isBack = () => primary.seat.life !== cut && (primary.seat.life?.awakeMs ?? 0) > BACK_MS;
    await this.#promoted(epoch, PROMOTED_WITHIN_MS, isBack);
  }

  async #switchOff(primary = this.#findPrimary()): Promise<void> {
    const { cluster } = this.parts;
    const { epoch = 0 } = this.status(this.#id) ?? {};
    primary.engine.restart();
    primary.seat.restart(cluster.world.between(30_000, 60_000));
    await this.pass(2_000);
    fence(cluster, primary);
    // One that is started earlier, after a kill, is not off.
    const isBack = () => (primary.seat.life?.awakeMs ?? 0) > BACK_MS;
    await this.#promoted(epoch, PROMOTED_WITHIN_MS, isBack);
  }

  /** The disk of the primary has died; the new one is empty. */
  async #swapDisk(): Promise<void> {
    const { world } = this.parts.cluster;
    const primary = this.#findPrimary();
    const { epoch = 0 } = this.status(this.#id) ?? {};
    primary.engine.restart();
    primary.disk.swap(this.#id);
    primary.seat.restart(world.between(500, 5_000));
    if (world.chance(0.5)) primary.files.delete(`replication-${this.#id}.json`);
    else this.parts.watch.copies.excepted.add(`${this.#id} ${primary.name}`);
    await this.#promoted(epoch, REPLACED_WITHIN_MS);
  }

  async #swapCopy(): Promise<void> {
    const { world } = this.parts.cluster;
    const copy = this.#pickCopy();
    copy.engine.restart();
    copy.disk.swap(this.#id);
    copy.seat.restart(world.between(500, 5_000));
    await this.pass(WRITTEN_MS);
  }

  async #mountLate(): Promise<void> {
    const { cluster } = this.parts;
    const { world } = cluster;
    const machine = world.chance(0.5) ? this.#findPrimary() : this.#pickCopy();
    rebootWithoutDisk(cluster, machine, { agentAfterMs: 3_000, diskAfterMs: world.between(8_000, 25_000) });
    await this.pass(40_000);
  }

  /** One copy is cut off while the volume is written to, and is back when the primary goes: the other one is fresher. */
  async #outrun(): Promise<void> {
    const { world } = this.parts.cluster;
    const primary = this.#findPrimary();
    const awayMs = world.between(20_000, 40_000);
    this.#pickCopy().seat.life?.isolate(awayMs, world.pick([['peers'], ['store', 'others', 'peers']]));
    await this.pass(awayMs - world.between(0, 10_000));
    await this.#switchOff(primary);
  }

  /** The machine of a copy is abroad when the primary goes: where the data may not be, nothing is promoted. */
  async #goAbroad(): Promise<void> {
    const { cluster } = this.parts;
    const copy = this.#pickCopy();
    copy.labels[COUNTRY] = 'FR';
    copy.seat.restart(1_000);
    await this.pass(ABROAD_MS);
    await this.#switchOff();
    bringHome(cluster);
  }

  /** The one that was promoted goes too, before another copy has what was written since. */
  async #loseTwo(): Promise<void> {
    const { cluster } = this.parts;
    const primary = this.#findPrimary();
    for (const { seat } of cluster.machines) if (seat !== primary.seat) seat.life?.isolate(CUT_MS, ['peers']);
    await this.#switchOff(primary);
    await this.pass(WRITTEN_MS);
    const next = this.#findPrimary();
    next.engine.restart();
    next.seat.restart(cluster.world.between(20_000, 50_000));
    await this.pass(2_000);
    fence(cluster, next);
    await this.pass(CUT_MS);
  }

  /** A planned move, to which something may happen on the way. It ends, and is written to where it is then. */
  async #move(): Promise<void> {
    const { cluster, watch } = this.parts;
    const { world } = cluster;
    const about = { id: this.#id, tenant: this.tenant };
    const primary = this.#findPrimary();
    const target = this.#pickCopy();
    if (watch.copies.excepted.has(`${this.#id} ${target.name}`)) return; // a move waits until its disk is mounted, which has died
    const before = this.status(this.#id)?.lastMove?.at;
    const answer = await this.hear(askForMove(cluster, about, target.name));
    if (answer.told !== 'stored') return;
    if (world.chance(0.5)) {
      await this.pass(world.between(0, 6_000));
      const trouble = [
        () => void cancelMove(cluster, about),
        () => primary.seat.restart(world.between(100, 20_000)),
        () => target.seat.restart(world.between(100, 20_000)),
        () => target.seat.life?.isolate(world.between(5_000, CUT_MS), ['store', 'others', 'peers']),
        () => primary.seat.life?.isolate(world.between(5_000, CUT_MS), ['store', 'others', 'peers']),
        () => primary.seat.life?.isolate(world.between(5_000, 30_000), ['peers']),
      ];
      world.pick(trouble)();
    }
    const isEnded = () => {
      const { phase, move, lastMove } = this.status(this.#id) ?? {};
      return phase === 'Ready' && move === undefined && lastMove?.at !== before;
    };
    await this.until(isEnded, () => `a move ends: ${this.#describe()}`, { withinMs: MOVED_WITHIN_MS });
    this.#former = primary;
  }

  /** The machine of the primary is drained: the volume leaves it, with every byte. */
  async #moveAway(): Promise<void> {
    const primary = this.#findPrimary();
    const { epoch = 0 } = this.status(this.#id) ?? {};
    await this.#order(primary, 'drain');
    await this.#promoted(epoch, MOVED_WITHIN_MS);
    await this.#order(primary, 'undrain');
  }

  async #order({ name }: Machine, what: 'drain' | 'undrain'): Promise<void> {
    const request = {
      method: 'POST' as const,
      path: `/api/v1/nodes/{id}/${what}`,
      tenant: this.tenant,
      params: { id: name },
    };
    const isStored = async () => (await this.hear(this.parts.cluster.ask(request))).told === 'stored';
    await this.until(isStored, `a node hears that it is to ${what}`);
  }

  /** The primary may go when the copy that comes again is not complete. */
  async #dropCopy(): Promise<void> {
    const { cluster } = this.parts;
    const about = { id: this.#id, tenant: this.tenant };
    const { name } = cluster.machines.find(machine => machine === this.#former) ?? this.#pickCopy();
    await this.hear(giveUpCopy(cluster, about, name));
    await this.pass(WRITTEN_MS);
    await this.hear(askForCopy(cluster, about, name));
    if (!cluster.world.chance(0.5)) return;
    await this.pass(cluster.world.between(0, 1_000));
    await this.#switchOff();
  }

  async #promoted(epoch: number, withinMs: number, isNeedless = () => false): Promise<void> {
    const isReady = () => this.status(this.#id)?.phase === 'Ready';
    const isSo = () => isReady() && ((this.status(this.#id)?.epoch ?? 0) > epoch || isNeedless());
    this.#former = this.#findPrimary();
    await this.until(isSo, () => `a copy is promoted: ${this.#describe()}`, { withinMs });
  }

  /** Waits until the volume is written to, and every copy has what was. */
  async #heal(what: string): Promise<void> {
    const { cluster, history, watch } = this.parts;
    const written = watch.countWritten(this.#id);
    let missing = 'it is not written to';
    const isSo = () => {
      const isServed = this.status(this.#id)?.phase === 'Ready' && this.runs(OWNER);
      if (!isServed || watch.countWritten(this.#id) <= written) return false;
      try {
        expectCopies(cluster, history, watch.copies);
        return true;
      } catch (thrown) {
        missing = (thrown as Error).message;
        return false;
      }
    };
    await this.until(isSo, () => `${what}: ${missing}; ${this.#describe()}`, { withinMs: HEALED_WITHIN_MS });
    await this.pass(WRITTEN_MS);
  }

  /** The machines beside the primary's that have a copy. */
  #pickCopy(): Machine {
    const { copies = [] } = this.status(this.#id) ?? {};
    const names = copies.map(({ nodeId }) => findEnrolled(nodeId, this.parts.history)?.name);
    const machines = this.parts.cluster.machines.filter(({ name }) => names.includes(name));
    return this.parts.cluster.world.pick(machines);
  }

  #findPrimary(): Machine {
    const { primaryNode } = this.status(this.#id) ?? {};
    const node = findEnrolled(primaryNode, this.parts.history);
    return this.parts.cluster.machines.find(({ name }) => name === node?.name)!;
  }

  #describe(): string {
    const { phase, message, epoch, copies = [] } = this.status(this.#id) ?? {};
    const reports = copies.map(({ nodeId }) => {
      const key = keys.volumeReport(this.tenant, this.#id, nodeId);
      const { state, role, syncedEpoch } = this.parts.history.get<VolumeReport>(key) ?? {};
      return `${findEnrolled(nodeId, this.parts.history)?.name} ${state} ${role} ${syncedEpoch}`;
    });
    return `${phase} in epoch ${epoch} (${message}; ${reports.join(', ')})`;
  }
}
