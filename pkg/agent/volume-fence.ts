import type { AssignedVolume, SeenVolume } from '../../crds/volume/index.js';
import { sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import type { AgentEnv } from './agent-env.js';
import type { ContainerView } from './container-view.js';
import { readStateFile } from './disk.js';
import type { VolumeWriters } from './volume-writers.js';
import { VolumeFault } from './volumes/index.js';

const FILE = 'heard.json';
const CHECK_MS = 1_000;
/** A container has so long to end before it is killed: whoever promotes a copy counts on it. */
const STOP_GRACE_SECONDS = 5;
/** The moment on disk may be older than the true one by this part of the shortest fence time. */
const SAVED_SHARE = 0.25;
const UNSAVED =
  'the state folder of the agent cannot be written, where what writes to a replicated volume is noted; make room in it, or repair its disk';
const UNANSWERED =
  'the control plane has not answered for too long: see whether the server can be reached; what was stopped starts again when it answers';
const NEVER = Number.MIN_SAFE_INTEGER;

/** What is kept of one volume that may be promoted elsewhere. */
interface FencedVolume {
  readonly afterMs: number;
  /** The replicas whose containers were let write to it, while they have one. */
  readonly writers: readonly string[];
  /** The control plane lets no container write to it, whether it answers or not. */
  readonly isHeld?: true;
  /** It was left out of what was assigned last, maybe for a moment only: it is kept while a container of a writer is there. */
  readonly isLeftOut?: true;
}

/** What is kept across restarts. */
interface ContactRecord {
  /** Time counts only within one boot. */
  readonly boot: string;
  /** When the last heartbeat was sent that was answered, in milliseconds since the boot. */
  readonly at: number;
  readonly volumes: Readonly<Record<string, FencedVolume>>;
}

export interface GuardParts {
  readonly view: Pick<ContainerView, 'containers' | 'isListed' | 'isUncertain' | 'markChanged'>;
  readonly writers: Pick<VolumeWriters, 'isStarting'>;
  readonly queue: { add(uid: string): void };
  /** Asks for everything that is assigned. */
  readonly dial: { again(): void };
}

/**
 * Stops what writes to replicated volumes when the control plane has not answered for so long that it may promote a copy elsewhere,
 * or lets no container use them.
 * Suspended or restarted, the time goes on; after a reboot it counts as passed.
 */
export class VolumeFence {
  readonly #env: AgentEnv;
  readonly #loaded: Promise<void>;
  #lastContactAt = NEVER;
  #savedAt = NEVER;
  #volumes: Readonly<Record<string, FencedVolume>> = {};
  /** What is on the disk of them. */
  #saved: Readonly<Record<string, FencedVolume>> = this.#volumes;
  #saving: Promise<boolean> = Promise.resolve(true);
  /** The containers whose stop is not answered yet. */
  readonly #stopping = new Set<string>();
  /** The time of some volume had passed: what is assigned may be out of date until all of it has come anew. */
  #isClosed = false;

  constructor(env: AgentEnv) {
    this.#env = env;
    this.#loaded = this.#load();
  }

  /** Time that goes on whatever becomes of this process. */
  now(): number {
    return this.#env.uptimeMs?.() ?? this.#env.clock.monotonic();
  }

  /** Takes which volumes may be promoted elsewhere from now on; `isFresh`: the control plane has just told everything. */
  async assign(volumes: readonly AssignedVolume[], isFresh: boolean): Promise<void> {
    await this.#loaded;
    if (isFresh) this.#isClosed = false;
    const told = new Set(volumes.map(({ id }) => id));
    const leftOut = Object.entries(this.#volumes)
      .filter(([id, { writers }]) => writers.length > 0 && !told.has(id))
      .map(([id, volume]) => [id, { ...volume, isLeftOut: true }] as const);
    const fenced = volumes.flatMap(({ id, replication }) => {
      const { writers = [] } = this.#volumes[id] ?? {};
      if (replication?.role !== 'primary') return [];
      const { fenceAfterSeconds, isHeld } = replication;
      return [[id, { afterMs: fenceAfterSeconds * 1000, writers, ...(isHeld && { isHeld }) }] as const];
    });
    const next = Object.fromEntries<FencedVolume>([...fenced, ...leftOut]);
    if (JSON.stringify(this.#volumes) === JSON.stringify(next)) return;
    this.#volumes = next;
    await this.#save();
  }

  /** Says that this agent keeps to the time that it was told: a copy is promoted only then. */
  describe({ replication }: AssignedVolume): Pick<SeenVolume, 'fencesAfterSeconds'> {
    return replication?.role === 'primary' ? { fencesAfterSeconds: replication.fenceAfterSeconds } : {};
  }

  /** A heartbeat that was sent at `sentAt` was answered. */
  recordContact(sentAt: number): void {
    this.#lastContactAt = Math.max(this.#lastContactAt, sentAt);
    // Where nothing writes there is nothing to stop in time: an older moment on the disk only makes the next agent wait to be told.
    const written = Object.values(this.#volumes).filter(({ writers }) => writers.length > 0);
    const shortest = Math.min(...written.map(({ afterMs }) => afterMs));
    if (this.#lastContactAt - this.#savedAt >= shortest * SAVED_SHARE) void this.#save();
  }

  /** Whether a volume may be promoted elsewhere, or was: nothing may write to it here. */
  isFenced(volumeId: string): boolean {
    const volume = this.#volumes[volumeId];
    return volume !== undefined && (this.#isClosed || volume.isHeld === true || this.#hasPassed(volumeId));
  }

  /** Lets the container of a replica write to a volume, which is on disk before it does, or throws; false while it is fenced. */
  async admit(volumeId: string, replica: string): Promise<boolean> {
    await this.#loaded;
    const volume = this.#volumes[volumeId];
    if (!volume) return true;
    if (!volume.writers.includes(replica)) {
      const writers = [...volume.writers, replica];
      this.#volumes = { ...this.#volumes, [volumeId]: { ...volume, writers } };
    }
    if (this.#volumes !== this.#saved && !(await this.#save())) throw new VolumeFault('failed', UNSAVED);
    return !this.isFenced(volumeId);
  }

  /** Stops containers that write to fenced volumes, until aborted. Answered again, it asks for everything anew before they may start. */
  async guard(parts: GuardParts, signal: AbortSignal): Promise<void> {
    await this.#loaded;
    while (!signal.aborted) {
      await sleep(this.#env.clock, CHECK_MS, signal);
      if (signal.aborted) return;
      this.#observe(parts);
      const now = this.now();
      const hasPassed = Object.keys(this.#volumes).some(id => this.#hasPassed(id, now));
      if (hasPassed) this.#isClosed = true;
      else if (this.#isClosed) parts.dial.again();
      const fenced = Object.values(this.#volumes).filter(({ isHeld }) => this.#isClosed || isHeld);
      const writers = new Set(fenced.flatMap(each => each.writers));
      const running = parts.view.containers.filter(
        ({ state, owner }) => state === 'running' && writers.has(owner.replica),
      );
      for (const { id, owner } of running) if (!this.#stopping.has(id)) void this.#stop(id, owner.replica, parts);
    }
  }

  /** Notes what writes by its own account, whatever was admitted, and lets go of what has no container any more. */
  #observe({ view, writers: starting }: GuardParts): void {
    const { isListed, containers } = view;
    if (!isListed) return;
    let next = this.#volumes;
    for (const { state, owner } of containers) {
      for (const id of (state === 'running' && owner.writes) || []) {
        const volume = next[id];
        if (!volume || volume.writers.includes(owner.replica)) continue;
        next = { ...next, [id]: { ...volume, writers: [...volume.writers, owner.replica] } };
      }
    }
    const owners = new Set(containers.map(({ owner }) => owner.replica));
    for (const [id, volume] of Object.entries(next)) {
      if (starting.isStarting(id)) continue; // its container is not seen yet
      const writers = volume.writers.filter(replica => owners.has(replica) || view.isUncertain(replica));
      if (writers.length === volume.writers.length) continue;
      const { [id]: _gone, ...others } = next;
      next = volume.isLeftOut && writers.length === 0 ? others : { ...next, [id]: { ...volume, writers } };
    }
    if (next === this.#volumes) return;
    this.#volumes = next;
    void this.#save();
  }

  #hasPassed(volumeId: string, now = this.now()): boolean {
    return now - this.#lastContactAt >= (this.#volumes[volumeId]?.afterMs ?? Number.POSITIVE_INFINITY);
  }

  async #stop(container: string, replica: string, { view, queue }: GuardParts): Promise<void> {
    const { engine, log } = this.#env;
    this.#stopping.add(container);
    try {
      await engine.stop(container, STOP_GRACE_SECONDS);
      const because = this.#isClosed ? UNANSWERED : 'the volume is held';
      log.warn('stopped what writes to a replicated volume', { replica, container, because });
      view.markChanged(replica);
      queue.add(replica);
    } catch (thrown) {
      log.error('what writes to a replicated volume could not be stopped, retrying: check the container engine', {
        replica,
        error: asError(thrown),
      });
    } finally {
      this.#stopping.delete(container);
    }
  }

  async #load(): Promise<void> {
    const isSound = ({ at, volumes }: Partial<ContactRecord>) => typeof at === 'number' && typeof volumes === 'object';
    const stored = await readStateFile<ContactRecord>(this.#env.disk, FILE, isSound).catch(() => undefined);
    if (!stored) return;
    this.#volumes = stored.volumes;
    this.#saved = stored.volumes;
    if (stored.boot === this.#boot) this.#lastContactAt = Math.max(this.#lastContactAt, stored.at);
  }

  get #boot(): string {
    return this.#env.processes?.boot ?? '';
  }

  /**
   * Says whether it is on the disk. A moment that cannot be written leaves an older one there: the next agent stops earlier.
   * Writes are serialised, so that an older record never overwrites a newer one.
   */
  #save(): Promise<boolean> {
    this.#savedAt = this.#lastContactAt;
    this.#saving = this.#saving.then(() => this.#write());
    return this.#saving;
  }

  async #write(): Promise<boolean> {
    const record: ContactRecord = { boot: this.#boot, at: this.#lastContactAt, volumes: this.#volumes };
    try {
      await this.#env.disk.write(FILE, JSON.stringify(record));
      this.#saved = record.volumes;
      return true;
    } catch (thrown) {
      this.#env.log.warn('the state folder cannot be written: make room in it, or repair its disk', {
        error: asError(thrown),
      });
      return false;
    }
  }
}
