import { keys, ranges } from '../../crds/keys/index.js';
import { isMadeVolume, type StoredVolume, type VolumeStatus } from '../../crds/volume/index.js';
import type { ContainerStatus } from '../../pkg/agent/index.js';
import { value } from '../../pkg/store/index.js';
import type { SimCluster } from './cluster.js';
import type { Machine } from './machine.js';
import { CopyWatch } from './copy-watch.js';
import type { History, Invariant } from './history.js';
import { findEnrolled } from './volume-invariants.js';

/** A volume in a container that runs. */
interface RunningMount {
  readonly machine: Machine;
  readonly container: ContainerStatus;
  readonly id: string;
  readonly path: string;
  readonly readOnly: boolean;
}

/** In calm weather a claim is wrong for no longer: a node is silent, its agent finds out, a new leader looks. */
const CLAIMED_WITHIN_MS = 45_000;
const LOOK_MS = 1_000;

/** What has become of the bytes of volumes, as the disks themselves and the containers that use them show it. */
export class VolumeWatch {
  readonly #cluster: SimCluster;
  readonly #history: () => History;
  /** The tenant of every volume that ever was, and those whose deletion was asked for. */
  readonly #tenants = new Map<string, string>();
  readonly #ordered = new Set<string>();
  /** Machines that were told to remove their copies, as `<volume> <machine>`. */
  readonly #leaving = new Set<string>();
  /** How many records were written to each volume. */
  readonly #written = new Map<string, number>();
  readonly #removals = new Map<Machine, number>();
  readonly #wrongSince = new Map<string, number>();
  readonly copies: CopyWatch;
  /** Containers write nothing more. */
  isResting = false;
  /** The store was set back, and nobody has declared that: statuses are those of the backup, which the condition of the nodes says (ADR 72). */
  isSetBack = false;

  constructor(cluster: SimCluster, history: () => History) {
    this.#cluster = cluster;
    this.#history = history;
    this.copies = new CopyWatch(cluster, history);
  }

  readonly note: Invariant = (changes, history) => {
    this.copies.note(changes, history);
    for (const { key, entry } of changes) {
      if (entry && key.startsWith(ranges.volumeStatuses)) this.#noteLeaving(value<VolumeStatus>(entry), history);
      if (!entry || !key.startsWith(ranges.volumes)) continue;
      const { id, metadata } = value<StoredVolume>(entry);
      this.#tenants.set(id, metadata.tenant);
      if (metadata.deletedAt !== undefined) this.#ordered.add(id);
    }
  };

  #noteLeaving({ id, leaving = [] }: VolumeStatus, history: History): void {
    for (const nodeId of leaving) this.#leaving.add(`${id} ${history.node(nodeId)?.name}`);
  }

  /** To how many volumes something was written. */
  get writtenVolumes(): number {
    return this.#written.size + this.copies.writtenVolumes;
  }

  /** How many records were written to a volume. */
  countWritten(id: string): number {
    return this.copies.isCopied(id) ? this.copies.countServed(id) : (this.#written.get(id) ?? 0);
  }

  /** Has containers write and read as long as there are any, and looks at what is claimed. */
  useBytes(): void {
    const { world } = this.#cluster;
    world.after(LOOK_MS, 'containers use volumes', () => {
      for (const mount of this.#listMounts()) if (!mount.machine.isStill) this.#use(mount);
      this.copies.look(id => this.#ordered.has(id));
      if (this.#cluster.mix.hasCopies) this.look(); // an agent may have had the time to stop what it must by now
      this.#lookAtClaims();
      this.useBytes();
    });
  }

  /** A store that was restored may not know of bytes that were made since, and choose another node for them. */
  noteRestore(): void {
    this.copies.noteRestore();
    this.isSetBack = true;
    const made = this.#history().all<VolumeStatus>(ranges.volumeStatuses).filter(isMadeVolume);
    const known = new Set(made.map(({ id }) => id));
    for (const id of this.#written.keys()) if (!known.has(id)) this.#written.delete(id);
  }

  /** To be called when engines or disks have done something. */
  look(): void {
    this.#lookAtRemovals();
    const writers = new Map<string, string>();
    const local = new Map<string, string>();
    for (const { machine, container, id, readOnly } of this.#listMounts()) {
      const { name, owner } = container;
      if (this.#tenants.get(id) !== owner.tenant) throw new Error(`${name} mounts a volume of another tenant`);
      const isCopied = this.copies.isCopied(id);
      const isGivenUp = this.#history().givenUp.has(owner.replica);
      if (!isGivenUp && !isCopied) this.#lookAtNode(container, id);
      if (readOnly) continue;
      const here = `${machine.name} ${id}`;
      if (local.has(here)) throw new Error(`${name} and ${local.get(here)} write to ${id} on ${machine.name}`);
      local.set(here, name);
      if (isCopied ? !machine.isAwake : isGivenUp) continue;
      if (writers.has(id)) throw new Error(`${name} on ${machine.name} and ${writers.get(id)} write to ${id}`);
      writers.set(id, `${name} on ${machine.name}`);
    }
  }

  #lookAtNode({ name, owner }: ContainerStatus, id: string): void {
    const status = this.#history().get<VolumeStatus>(keys.volumeStatus(owner.tenant, id));
    if (status?.primaryNode === owner.nodeId) return;
    throw new Error(`${name} runs on ${owner.nodeId} with ${id}, which is on ${status?.primaryNode ?? 'no node'}`);
  }

  #lookAtRemovals(): void {
    for (const machine of this.#cluster.machines) {
      const { removed } = machine.disk;
      for (const id of removed.slice(this.#removals.get(machine) ?? 0)) {
        const isOrdered = this.#ordered.has(id) || this.#leaving.has(`${id} ${machine.name}`);
        if (!isOrdered) throw new Error(`bytes of ${id} were removed on ${machine.name} without the order`);
        const user = this.#listMounts().find(mount => mount.machine === machine && mount.id === id);
        const isGivenUp = user && this.#history().givenUp.has(user.container.owner.replica);
        if (user && !isGivenUp) throw new Error(`bytes of ${id} were removed while ${user.container.name} runs`);
      }
      this.#removals.set(machine, removed.length);
    }
  }

  #listMounts(): readonly RunningMount[] {
    return this.#cluster.machines.flatMap(machine =>
      machine.engine.containers
        .filter(({ id, state }) => state === 'running' && machine.mounts.has(id))
        .flatMap(container =>
          machine.mounts.get(container.id)!.flatMap(mount => {
            if (mount.kind !== 'bind') return [];
            const { id } = machine.disk.findMounted(mount.source);
            return [{ machine, container, id, path: mount.source, readOnly: mount.readOnly }];
          }),
        ),
    );
  }

  /** A container finds every record that was ever written, and one that may write adds the next. */
  #use({ machine, container, id, path, readOnly }: RunningMount): void {
    const { held } = machine.disk.findMounted(path);
    if (!held) return; // the disk went away under it
    const isWritten = !readOnly && !this.isResting && !held.isFull;
    if (this.copies.isCopied(id)) {
      return this.copies.use(machine, container.name, held, { id, readOnly: !isWritten });
    }
    const written = this.#written.get(id) ?? held.records;
    if (held.records !== written) {
      if (this.#history().givenUp.has(container.owner.replica)) return;
      throw new Error(`${container.name} finds ${held.records} of ${written} records of ${id} on ${machine.name}`);
    }
    if (isWritten) held.write(written + 1);
    this.#written.set(id, held.records);
  }

  /** `Ready` is not claimed for long of a volume whose agent is away, or which its disk does not show. */
  #lookAtClaims(): void {
    const { world, faults } = this.#cluster;
    for (const { id, phase, primaryNode } of this.#history().all<VolumeStatus>(ranges.volumeStatuses)) {
      const isStormy = faults.unreachable > 0;
      if (phase !== 'Ready' || isStormy || this.isSetBack || this.#isUsable(id, primaryNode)) {
        this.#wrongSince.delete(id);
        continue;
      }
      const since = this.#wrongSince.get(id) ?? world.time;
      this.#wrongSince.set(id, since);
      if (world.time - since > CLAIMED_WITHIN_MS) throw new Error(`${id} is claimed to be Ready, and cannot be used`);
    }
  }

  #isUsable(id: string, nodeId: string | undefined): boolean {
    const node = findEnrolled(nodeId, this.#history());
    const machine = this.#cluster.machines.find(({ name }) => name === node?.name);
    const volume = node && this.#history().get<StoredVolume>(keys.volume(node.metadata.tenant, id));
    if (!machine?.seat.life || !volume) return false;
    return volume.type !== 'volume' || machine.disk.held.has(id);
  }
}
