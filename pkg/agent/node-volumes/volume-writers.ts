import { Fault } from '../../fault/index.js';
import type { Assignments } from '../assignments.js';
import type { ContainerView } from '../container-view.js';
import type { ContainerStatus, Engine } from '../engine/index.js';

/** A volume that a container is to write to is still written to by another one of this node. */
export class VolumeBusyFault extends Fault {
  readonly retriable = true;

  constructor(volumeId: string, writer: string) {
    super(
      `volume ${volumeId} is still written to by ${writer} on this node; it is tried again until that one has ended`,
    );
  }
}

/**
 * Keeps the writers of a volume apart on this node. The control plane assigns one at a time, as far as it knows: after it was restored
 * from an old backup, or for an attempt that was given up on a machine that ran on, it does not know every container.
 */
export class VolumeWriters {
  readonly #engine: Pick<Engine, 'inspect'>;
  /** The replicas whose containers are being started, by volume. */
  readonly #starting = new Map<string, string>();

  constructor(engine: Pick<Engine, 'inspect'>) {
    this.#engine = engine;
  }

  /** Lets a replica start its container, until `release`. Throws while another container may write to the volume. */
  async claim(volumeId: string, replica: string, containers: readonly ContainerStatus[]): Promise<void> {
    if ((this.#starting.get(volumeId) ?? replica) !== replica) throw new VolumeBusyFault(volumeId, 'another container');
    this.#starting.set(volumeId, replica);
    const others = containers.filter(({ owner }) => owner.replica !== replica && owner.writes?.includes(volumeId));
    for (const { id, name } of others) {
      // What was last seen of it may be old: the answer to its start may have been lost.
      if ((await this.#engine.inspect(id))?.state === 'running') throw new VolumeBusyFault(volumeId, name);
    }
  }

  /** Whether a container that writes to a volume is being started, which the engine does not list yet. */
  isStarting(volumeId: string): boolean {
    return this.#starting.has(volumeId);
  }

  /** The work on a replica has ended: from now on its container is seen. */
  release(replica: string): void {
    for (const [volumeId, holder] of this.#starting) if (holder === replica) this.#starting.delete(volumeId);
  }
}

export interface FindWriterParts {
  readonly view: Pick<ContainerView, 'isListed' | 'containers' | 'isUncertain'>;
  readonly assignments: Pick<Assignments, 'get'>;
  readonly engine: Pick<Engine, 'inspect'>;
}

/**
 * The container of this node, in words, that may write to a volume, or that has it mounted at all. Those that are not assigned any more
 * say themselves what they write.
 */
export async function findWriter(
  volumeId: string,
  { view, assignments, engine }: FindWriterParts,
  { orReader = false } = {},
): Promise<string | undefined> {
  if (!view.isListed) return 'a container';
  const isWriter = ({ owner }: ContainerStatus) => {
    const mounts = assignments.get(owner.replica)?.template.volumes ?? [];
    const isMounted = mounts.some(mount => mount.volumeId === volumeId && (orReader || !mount.readOnly));
    return isMounted || owner.writes?.includes(volumeId);
  };
  // What was last seen of one may be old: the answer to its start may have been lost.
  const mayRun = async ({ id, state, owner }: ContainerStatus) => {
    if (state === 'running' || view.isUncertain(owner.replica)) return true;
    return engine.inspect(id).then(
      found => found?.state === 'running',
      () => true,
    );
  };
  for (const container of view.containers.filter(isWriter)) {
    if (await mayRun(container)) return `the container ${container.name}`;
  }
  return undefined;
}
