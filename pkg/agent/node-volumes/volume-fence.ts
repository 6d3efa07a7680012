import type { AssignedVolume, SeenVolume } from '../../../crds/volume/index.js';
import { sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { ContainerView } from '../container-view.js';
import { readStateFile } from '../disk.js';
import type { FencerDeadline } from '../fencer/index.js';
import type { VolumeWriters } from './volume-writers.js';
import { VolumeFault } from '../volumes/index.js';

const FILE = 'heard.json';
const CHECK_MS = 1_000;
/** A container has so long to end before it is killed: a promotion counts on it. */
const STOP_GRACE_SECONDS = 5;
/** The fencer kills what the agent should have stopped by then: well before a copy is promoted. */
const FENCER_MS = 10_000;
/** The moment on disk may be older than the true one by this part of the shortest fence time. */
const SAVED_SHARE = 0.25;
const UNSAVED =
  'the state folder of the agent cannot be written, where what writes to a replicated volume is noted; make room in it, or repair its disk';
const UNANSWERED =
  'the control plane has not answered for too long: see whether the server can be reached; what was stopped starts again when it answers';
const NEVER = Number.MIN_SAFE_INTEGER;

/** What is kept of one volume that may be promoted elsewhere. */
interface FencedVolume {
  /** What this agent keeps to: never longer than what it was last known to have said. */
  readonly afterMs: number;
  /** What containers have mounted of it; left out while it cannot be mounted. */
  readonly folder?: string;
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
  readonly feed: { restart(): void };
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
  /** The time of some volume had passed: what is assigned may be out of date until all of it has come again. */
  #isClosed = false;
  #isUnsaved = false;
  /** The agent ends: it promises nothing any more. */
  #isWithdrawn = false;
  /** The volumes that the fencer guards. */
  #armed: ReadonlySet<string> = new Set();
  readonly #onPromise: (volumeId: string) => void;

  /** `onPromise`: what `describe` says of a volume has changed. */
  constructor(env: AgentEnv, onPromise: (volumeId: string) => void) {
    this.#env = env;
    this.#onPromise = onPromise;
    this.#loaded = this.#load();
  }

  /** Time that goes on whatever becomes of this process. */
  now(): number {
    return this.#env.uptimeMs?.() ?? this.#env.clock.monotonic();
  }

  /** Takes which volumes may be promoted elsewhere from now on; `isFresh`: the control plane has just sent everything. */
  async assign(volumes: readonly AssignedVolume[], isFresh: boolean): Promise<void> {
    await this.#loaded;
    this.#notePassed();
    if (isFresh) this.#isClosed = false;
    const assigned = new Set(volumes.map(({ id }) => id));
    const leftOut = Object.entries(this.#volumes)
      .filter(([id, { writers }]) => writers.length > 0 && !assigned.has(id))
      .map(([id, volume]) => [id, { ...volume, isLeftOut: true }] as const);
    const fenced = volumes.flatMap(({ id, replication }) => {
      const { writers = [], folder, afterMs: before = Number.POSITIVE_INFINITY } = this.#volumes[id] ?? {};
      if (replication?.role !== 'primary') return [];
      const { fenceAfterSeconds, isHeld } = replication;
      // A longer time counts once it is known that this agent has taken it: until then a copy may be promoted by the shorter one.
      const afterMs = Math.min(before, fenceAfterSeconds * 1000);
      return [[id, { afterMs, writers, ...(folder !== undefined && { folder }), ...(isHeld && { isHeld }) }] as const];
    });
    const next = Object.fromEntries<FencedVolume>([...fenced, ...leftOut]);
    if (JSON.stringify(this.#volumes) === JSON.stringify(next)) return;
    this.#volumes = next;
    await this.#save();
  }

  /**
   * Says that what writes is stopped when the time has passed, whatever becomes of this agent: a copy is promoted only then. Nothing is said while
   * no fencer would see to it, and while what is noted of the writers does not outlive this process.
   */
  describe({ id, replication }: AssignedVolume): Pick<SeenVolume, 'fencesAfterSeconds' | 'unfenced'> {
    if (replication?.role !== 'primary') return {};
    if (this.#isWithdrawn) return { unfenced: 'agent_stopping' };
    if (this.#isUnsaved) return { unfenced: 'state_unwritable' };
    return this.#armed.has(id) ? { fencesAfterSeconds: replication.fenceAfterSeconds } : { unfenced: 'no_fencer' };
  }

  /** The control plane has stored what was said of a volume: the time that it counts with from now on. */
  async confirm({ id, fencesAfterSeconds = 0 }: SeenVolume): Promise<void> {
    const volume = this.#volumes[id];
    const afterMs = fencesAfterSeconds * 1000;
    if (!volume || afterMs <= volume.afterMs) return;
    this.#volumes = { ...this.#volumes, [id]: { ...volume, afterMs } };
    await this.#save();
  }

  /** Whether nothing is promised any more. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn;
  }

  /** Promises nothing from now on, before it is said. */
  withdraw(): void {
    this.#isWithdrawn = true;
  }

  /** The control plane knows that nothing is promised of these volumes any more: their writers go on when this agent has ended. */
  async release(volumeIds: readonly string[]): Promise<void> {
    const left = Object.entries(this.#volumes).filter(([id]) => !volumeIds.includes(id));
    await this.#env.fencer?.arm(this.#listDeadlines(left));
  }

  /** A heartbeat that was sent at `sentAt` was answered. */
  recordContact(sentAt: number): void {
    this.#notePassed(); // an answer that comes late opens nothing
    this.#lastContactAt = Math.max(this.#lastContactAt, sentAt);
    // Where nothing writes there is nothing to stop in time: an older moment on the disk only makes the next agent wait for an answer.
    const written = Object.values(this.#volumes).filter(({ writers }) => writers.length > 0);
    const shortest = Math.min(...written.map(({ afterMs }) => afterMs));
    if (this.#lastContactAt - this.#savedAt >= shortest * SAVED_SHARE) void this.#save();
    void this.#arm();
  }

  /** The presence of this node had ended when a heartbeat was answered: a copy may have been promoted meanwhile. */
  close(): void {
    this.#isClosed = true;
  }

  /** A volume can be mounted: from here on the fencer guards it, if there is one. */
  async prepare(volumeId: string, findFolder: () => Promise<string>): Promise<void> {
    await this.#loaded;
    const volume = this.#volumes[volumeId];
    if (!volume || !this.#env.fencer) return;
    if (volume.folder === undefined) {
      const folder = await findFolder();
      this.#volumes = { ...this.#volumes, [volumeId]: { ...(this.#volumes[volumeId] ?? volume), folder } };
      await this.#save();
    }
    if (!this.#armed.has(volumeId)) await this.#arm();
  }

  /** Has the fencer stop what writes if this agent does not renew its deadlines any more. */
  async #arm(): Promise<void> {
    const { fencer, log } = this.#env;
    if (!fencer || this.#isWithdrawn || this.#lastContactAt === NEVER) return;
    const deadlines = this.#listDeadlines(Object.entries(this.#volumes));
    const before = this.#armed;
    if (deadlines.length === 0 && before.size === 0) return;
    try {
      await fencer.arm(deadlines);
      this.#armed = new Set(deadlines.map(({ volume }) => volume));
    } catch (thrown) {
      if (before.size > 0)
        log.warn('the fencer is gone, starting it again: no copy takes over meanwhile', { error: asError(thrown) });
      this.#armed = new Set();
    }
    for (const id of new Set([...before, ...this.#armed]))
      if (before.has(id) !== this.#armed.has(id)) this.#onPromise(id);
  }

  #listDeadlines(volumes: readonly (readonly [string, FencedVolume])[]): readonly FencerDeadline[] {
    return volumes.flatMap(([volume, { folder, afterMs }]) =>
      folder === undefined ? [] : [{ volume, folder, at: this.#lastContactAt + afterMs + FENCER_MS }],
    );
  }

  /** Whether a volume may be promoted elsewhere, or was: nothing may write to it here. */
  isFenced(volumeId: string): boolean {
    this.#notePassed();
    const volume = this.#volumes[volumeId];
    return volume !== undefined && (this.#isClosed || volume.isHeld === true);
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

  /** Stops containers that write to fenced volumes, until aborted. Answered again, it asks for everything again before they may start. */
  async guard(parts: GuardParts, signal: AbortSignal): Promise<void> {
    await this.#loaded;
    while (!signal.aborted) {
      await sleep(this.#env.clock, CHECK_MS, signal);
      if (signal.aborted) return;
      this.#observe(parts);
      if (!this.#notePassed() && this.#isClosed) parts.feed.restart();
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

  /** Whether the time of some volume has passed, which closes all of them. */
  #notePassed(): boolean {
    const silentMs = this.now() - this.#lastContactAt;
    const hasPassed = Object.values(this.#volumes).some(({ afterMs }) => silentMs >= afterMs);
    if (hasPassed) this.#isClosed = true;
    return hasPassed;
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
      this.#noteUnsaved(false);
      return true;
    } catch (thrown) {
      this.#noteUnsaved(true);
      this.#env.log.warn('the state folder cannot be written: make room in it, or repair its disk', {
        error: asError(thrown),
      });
      return false;
    }
  }

  /** What is promised follows at once: a copy must not be promoted on a word that does not stand any more. */
  #noteUnsaved(isUnsaved: boolean): void {
    if (this.#isUnsaved === isUnsaved) return;
    this.#isUnsaved = isUnsaved;
    for (const id of Object.keys(this.#volumes)) this.#onPromise(id);
  }
}
