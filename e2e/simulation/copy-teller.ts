import { keys } from '../../crds/keys/index.js';
import type { VolumeReport } from '../../crds/volume/index.js';
import type { FailpointName } from '../../pkg/failpoint/index.js';
import { expectCopies } from './copies.js';
import type { Machine } from './machine.js';
import { switchOff } from './operators.js';
import { Storyteller, type StoryParts } from './storyteller.js';
import { findEnrolled } from './volume-invariants.js';
import { mountAt, stopFirst } from './volumes.js';

const OWNER = 'ledger';
const NAME = 'twin';
/** A node is cut off for longer than it takes until another copy is promoted. */
export const CUT_MS = 80_000;
/** How long it may take until a copy is promoted whose primary was cut off. */
export const PROMOTED_WITHIN_MS = 150_000;
const HEALED_WITHIN_MS = 240_000;
/** For so long something is written to the volume. */
export const WRITTEN_MS = 15_000;
/** For so long the agent of a machine that was held to be off has been back: it is not given up any more. */
const BACK_MS = 60_000;

/** Has a process die at its next pass of a failpoint. */
export type Arm = (name: FailpointName) => void;

/** Has one volume with two copies, which one deployment writes to, and knows where they are. */
export class CopyTeller extends Storyteller {
  readonly arm: Arm;
  id = '';
  /** The machine of the last primary that another one took over from: it may have set something aside. */
  former: Machine | undefined;

  constructor(parts: StoryParts, arm: Arm) {
    super(parts);
    this.arm = arm;
  }

  async begin(): Promise<void> {
    const { world, machines } = this.parts.cluster;
    const residency = world.chance(0.5) ? { residency: { country: 'DE' } } : {};
    // Most machines can read what this one sends.
    const [{ name: primaryNode }] = machines.filter(({ driver }) => driver === 'btrfs') as [Machine];
    this.id = await this.create(NAME, { class: 'replicated', replicas: 2, primaryNode, ...residency });
    const volumes = [mountAt(this.id, false)];
    await this.say(OWNER, 'create', { image: 'registry.test/ledger:1', replicas: 1, volumes, rollout: stopFirst });
    await this.heal('a volume is copied');
  }

  get about() {
    return { id: this.id, tenant: this.tenant };
  }

  get epoch(): number {
    return this.status(this.id)?.epoch ?? 0;
  }

  /** The machines beside the primary's that have a copy. */
  pickCopy(): Machine {
    return this.parts.cluster.world.pick(this.listCopies());
  }

  listCopies(): readonly Machine[] {
    const { copies = [] } = this.status(this.id) ?? {};
    const names = copies.map(({ nodeId }) => findEnrolled(nodeId, this.parts.history)?.name);
    return this.parts.cluster.machines.filter(({ name }) => names.includes(name));
  }

  findPrimary(): Machine {
    const { primaryNode } = this.status(this.id) ?? {};
    const node = findEnrolled(primaryNode, this.parts.history);
    return this.parts.cluster.machines.find(({ name }) => name === node?.name)!;
  }

  /** The machine of the primary is switched off and said to be, and is not back before a copy was promoted. */
  async switchOff(primary = this.findPrimary()): Promise<void> {
    const { cluster } = this.parts;
    const { epoch } = this;
    switchOff(cluster, primary, { fenceAfterMs: 2_000, backAfterMs: cluster.world.between(20_000, 50_000) });
    await this.promoted(epoch, { isNeedless: () => (primary.seat.life?.awakeMs ?? 0) > BACK_MS });
  }

  /** Waits until a copy was promoted after an epoch, or none needs to be. */
  async promoted(
    epoch: number,
    { withinMs = PROMOTED_WITHIN_MS, isNeedless = (): boolean => false } = {},
  ): Promise<void> {
    const isReady = () => this.status(this.id)?.phase === 'Ready';
    this.former = this.findPrimary();
    const isSo = () => isReady() && (this.epoch > epoch || isNeedless());
    await this.until(isSo, () => `a copy is promoted: ${this.describe()}`, { withinMs });
  }

  /** Whether another life of the agent of a machine has been at work for long: it is not given up any more. */
  isBackFor({ seat }: Machine, cut: Machine['seat']['life']): boolean {
    return seat.life !== cut && (seat.life?.awakeMs ?? 0) > BACK_MS;
  }

  /** Waits until the volume is written to, and every copy has what was. */
  async heal(what: string, withinMs = HEALED_WITHIN_MS): Promise<void> {
    const { cluster, history, watch } = this.parts;
    const written = watch.countWritten(this.id);
    let missing = 'it is not written to';
    const isSo = () => {
      const isServed = this.status(this.id)?.phase === 'Ready' && this.runs(OWNER);
      if (!isServed || watch.countWritten(this.id) <= written) return false;
      try {
        expectCopies(cluster, history, watch.copies);
        return true;
      } catch (thrown) {
        missing = (thrown as Error).message;
        return false;
      }
    };
    await this.until(isSo, () => `${what}: ${missing}; ${this.describe()}`, { withinMs });
    await this.pass(WRITTEN_MS);
  }

  describe(): string {
    const { phase, message, epoch, copies = [] } = this.status(this.id) ?? {};
    const reports = copies.map(({ nodeId }) => {
      const key = keys.volumeReport(this.tenant, this.id, nodeId);
      const { state, role, syncedEpoch } = this.parts.history.get<VolumeReport>(key) ?? {};
      return `${findEnrolled(nodeId, this.parts.history)?.name} ${state} ${role} ${syncedEpoch}`;
    });
    return `${phase} in epoch ${epoch} (${message}; ${reports.join(', ')})`;
  }
}
