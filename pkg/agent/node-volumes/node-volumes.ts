import type { AdvertisedSetBack } from '../../../crds/node/index.js';
import {
  type AssignedVolume,
  type DivergentBytes,
  isForeignTerm,
  isSameTerm,
  type SeenVolume,
} from '../../../crds/volume/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { untilAborted } from '../../clock/index.js';
import { asError, Fault } from '../../fault/index.js';
import { again, done, type ReconcileResult, WorkQueue } from '../../reconcile/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { ContainerMount, ContainerStatus } from '../engine/index.js';
import { VolumeFitter } from './fit-volume.js';
import { normaliseMessage } from '../normalise-message.js';
import type { NodeHold } from '../membership/node-hold.js';
import type { RestoreGate } from '../membership/restore-gate.js';
import { isReplicationNews, Replication, withoutReplication } from '../replication/index.js';
import { type GuardParts, VolumeFence } from './volume-fence.js';
import { VolumeWriters } from './volume-writers.js';
import { BoundFolders, type VolumeDriver, VolumeFault } from '../volumes/index.js';

const BACKOFF = { firstMs: 500, capMs: 30_000 };
/** How soon a volume is tried again that the node cannot provide. */
const AGAIN_MS = 5_000;
const FENCED =
  'may be promoted elsewhere: the control plane has not answered this agent for too long, and has to answer first; see whether the server can be reached from here';
/** Ends the key of a volume of whose copies there is news. */
const COPIES = ' copies';
/** Changes of what a volume holds that are worth a write: this much, and a hundredth of its size. */
const NEWS_BYTES = 2 ** 20;

const GONE = { state: 'removed' } as const;
const IN_MEMORY = {
  state: 'ready',
  limits:
    'Each container that mounts it has memory of its own, which is empty when it starts and gone when it ends: readers do not see what the writer writes. The size is a limit and nothing is set aside for it; what is used counts towards the memory limit of the container.',
} as const;

/** What would become of volumes. */
type VolumeChanges = Pick<AdvertisedSetBack, 'removed' | 'demoted' | 'discarded' | 'newer' | 'unknown'>;

/** A volume that a container mounts cannot be mounted here, or not yet. */
export class VolumeMissingFault extends Fault {
  readonly retriable = true;

  constructor(id: string, why: string) {
    super(`volume ${id} ${why}`);
  }
}

/** A volume that a container mounts is not to be used here now: it moves, a copy takes over, or it is fenced. That passes by itself. */
export class VolumeHeldFault extends VolumeMissingFault {
  readonly againMs = 2_000;
}

/** The container of this node, in words, that may write to a volume, or may read it. */
export type FindUser = (id: string, who?: { readonly orReader?: boolean }) => Promise<string | undefined>;

/**
 * The volumes of this node, as last received from the control plane: made when they are missing, and removed when that is ordered.
 * Bytes of a volume that is merely not assigned any more are kept: a control plane that was restored from an old backup knows less
 * than the disk.
 */
export class NodeVolumes {
  readonly #env: AgentEnv;
  readonly #report: (volumes: readonly SeenVolume[]) => Promise<void>;
  readonly #findUser: FindUser;
  #wanted: ReadonlyMap<string, AssignedVolume> | undefined;
  /** What was last said of each, by id. */
  readonly #said = new Map<string, SeenVolume>();
  /** What each held when it was last measured: the room of the node depends on it, also while reports are sent again. */
  readonly #used = new Map<string, number>();
  /** A heartbeat was answered since that was last asked. */
  #isAnswered = false;
  /** The reports that are under way, and the volumes of which the last one may still arrive. */
  readonly #reporting = new Set<Promise<void>>();
  readonly #unanswered = new Set<string>();
  readonly #replication: Replication | undefined;
  readonly #fitter: VolumeFitter;
  readonly fence: VolumeFence;
  readonly queue: WorkQueue;
  readonly writers: VolumeWriters;

  constructor(env: AgentEnv, report: (volumes: readonly SeenVolume[]) => Promise<void>, findUser: FindUser) {
    this.#env = env;
    this.#report = report;
    this.#findUser = async (id, who) =>
      this.writers.isStarting(id) ? 'a container that is being started' : findUser(id, who);
    this.#fitter = new VolumeFitter(env);
    const { clock, random, engine } = env;
    this.writers = new VolumeWriters(engine);
    const onChange = (id: string) => this.queue.add(`${id}${COPIES}`);
    this.fence = new VolumeFence(env, onChange);
    const findWriter = (id: string) => this.#findUser(id);
    this.#replication = env.volumes && new Replication({ ...env, driver: env.volumes, findWriter, onChange });
    this.queue = new WorkQueue(id => this.#reconcile(id), { clock, random, concurrency: 4, backoff: BACKOFF });
  }

  /** Takes what is wanted from now on. */
  assign(volumes: readonly AssignedVolume[], isFresh = false): void {
    if (isFresh) this.#said.clear();
    this.#wanted = new Map(volumes.map(volume => [volume.id, volume]));
    for (const known of [this.#said, this.#used])
      for (const id of known.keys()) if (!this.#wanted.has(id)) known.delete(id);
    this.#fitter.forget(id => this.#wanted?.has(id) === true);
    this.#replication?.assign(this.#wanted);
    void this.fence.assign(volumes, isFresh);
    this.check();
  }

  /** Forgets what was assigned: until it is assigned again, nothing is made and nothing removed. */
  forget(): void {
    this.#wanted = undefined;
    this.#replication?.assign();
  }

  /** Sends and receives copies of volumes, and guards those that may be promoted elsewhere, until aborted. */
  async replicate({ view, queue, feed }: Omit<GuardParts, 'writers'>, signal: AbortSignal): Promise<void> {
    const { writers } = this;
    await Promise.all([this.#replication?.run(signal), this.fence.guard({ view, queue, feed, writers }, signal)]);
  }

  /**
   * Before the agent ends by order: what it runs goes on, so its promises end. Where that cannot be said, the fencer keeps its word;
   * so it does where a report that was not answered may still arrive, which promised something.
   */
  async withdraw(): Promise<void> {
    this.fence.withdraw();
    await Promise.allSettled(this.#reporting);
    const promised = [...this.#said.values()].filter(({ fencesAfterSeconds }) => fencesAfterSeconds !== undefined);
    if (promised.length === 0) return;
    await this.#report(promised.map(withoutPromise));
    await this.fence.release(promised.map(({ id }) => id).filter(id => !this.#unanswered.has(id)));
  }

  /** What the volumes of this node hold; undefined until each of them was looked at. */
  countUsed(): number | undefined {
    const isKnown = (id: string) => this.#used.has(id) || this.#said.has(id);
    if (!this.#wanted || ![...this.#wanted.keys()].every(isKnown)) return undefined;
    return [...this.#used.values()].reduce((sum, usedBytes) => sum + usedBytes, 0);
  }

  /** What would become of the volumes here if these were assigned. Changes nothing. Throws where that cannot be seen. */
  async compare(assigned: readonly AssignedVolume[]): Promise<VolumeChanges> {
    const listed = (await this.#env.volumes?.list()) ?? [];
    const here = new Set(listed.map(({ id }) => id));
    const changes: Record<keyof VolumeChanges, string[]> = {
      removed: [],
      demoted: [],
      discarded: [],
      newer: [],
      unknown: [],
    };
    for (const { id, isDeleted, removedIn, lineage = [], replication } of assigned) {
      const { epoch = 0, generationId, role, divergent = [] } = (await this.#replication?.recall(id)) ?? {};
      const isOther = isForeignTerm({ epoch, generationId }, replication ? [replication] : lineage);
      const isGiven = ({ name, at }: DivergentBytes) =>
        replication?.discard?.some(each => each.name === name && each.at === at) === true;
      // An order that names no epoch removes nothing.
      const isLater = epoch > (replication?.epoch ?? removedIn ?? (isDeleted ? -1 : epoch));
      const isCopy = role === 'primary' && replication?.role === 'replica';
      // A primary becomes a copy in a term that it does not know, also one of the same epoch.
      if (isCopy && !isLater && !isSameTerm({ epoch, generationId }, replication)) changes.demoted.push(id);
      else if (isLater || isOther) changes.newer.push(id);
      else if (isDeleted && here.has(id) && !this.#wanted?.get(id)?.isDeleted) changes.removed.push(id);
      if (divergent.some(isGiven)) changes.discarded.push(id);
      here.delete(id);
    }
    return { ...changes, unknown: [...here] };
  }

  /** Compares what is wanted with what the disk has, and measures it. */
  check(): void {
    for (const id of this.#wanted?.keys() ?? []) this.queue.add(id);
  }

  /**
   * Brings back what is on the disk, once this agent has the node: until then another one may be at work on it. Nothing waits for that,
   * since one volume may hang.
   */
  async recover(hold: Pick<NodeHold, 'untilHeld'>, signal: AbortSignal): Promise<void> {
    const { volumes, log } = this.#env;
    await hold.untilHeld(signal);
    if (!volumes || signal.aborted) return;
    const recovered = (async () => {
      await volumes.recover();
      for (const { id, fault } of await volumes.list()) {
        if (fault !== undefined) log.warn('a volume cannot be used', { volume: id, because: fault });
      }
    })().catch((thrown: unknown) => log.warn('volumes could not be brought back', { error: asError(thrown) }));
    await Promise.race([recovered, untilAborted(signal)]);
  }

  /** A heartbeat that was sent at `sentAt` was answered. */
  recordContact(sentAt: number): void {
    this.#isAnswered = true;
    this.fence.recordContact(sentAt);
  }

  /**
   * Lets time pass for what was removed and is kept, while the control plane answers and is obeyed: a restore of etcd needs the time until
   * then, and may need what a lost order has removed.
   */
  async ageRemoved(ms: number, gate: Pick<RestoreGate, 'isOpen'>): Promise<void> {
    const isObeyed = this.#isAnswered && gate.isOpen;
    this.#isAnswered = false;
    if (!isObeyed) return;
    await this.#env.volumes?.removed?.age(ms).catch((thrown: unknown) =>
      this.#env.log.warn('what was removed cannot be looked at: see the disk of the volumes', {
        error: asError(thrown),
      }),
    );
  }

  /** Makes sure that the volumes of a replica are there, and that no other container writes to them; answers what its container mounts. */
  async prepare(
    { uid, template: { volumes: mounts = [] } }: Replica,
    containers: readonly ContainerStatus[],
  ): Promise<readonly ContainerMount[]> {
    const prepared: ContainerMount[] = [];
    for (const { volumeId, mountPath, readOnly, subPath } of mounts) {
      const { type, sizeBytes } = this.#demand(volumeId);
      if (type === 'tmpfs') {
        prepared.push({ kind: 'tmpfs', target: mountPath, readOnly, sizeBytes });
        continue;
      }
      // Whoever waits until nothing writes sees this one from here on: what is assigned after it counts.
      if (!readOnly) await this.writers.claim(volumeId, uid, containers);
      const volume = this.#demand(volumeId);
      if (type === 'bind') {
        const source = await this.#demandFolders(volume).mountPoint(volume, subPath);
        prepared.push({ kind: 'bind', source, target: mountPath, readOnly });
        continue;
      }
      const driver = this.#demandDriver(volumeId);
      const unusable = await this.#replication?.explainUnusable(volume);
      if (unusable !== undefined) throw new VolumeHeldFault(volumeId, unusable);
      const isFenced = !readOnly && !(await this.fence.admit(volumeId, uid));
      if (isFenced) throw new VolumeHeldFault(volumeId, FENCED);
      await (this.#replication ?? driver).materialise(volume);
      prepared.push({ kind: 'bind', source: await driver.mountPoint(volumeId, subPath), target: mountPath, readOnly });
    }
    return prepared;
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const id = key.endsWith(COPIES) ? key.slice(0, -COPIES.length) : key;
    const volume = this.#wanted?.get(id);
    if (!volume) return done;
    if (key !== id) return this.#reportCopies(volume);
    const seen = await this.#bringAbout(volume);
    if (this.#wanted?.get(id) !== volume) return again(0, 'its assignment has changed meanwhile');
    await this.#say(volume, seen);
    if (seen.state === 'ready' && seen.targetBytes !== volume.sizeBytes) return again(0, 'it is shrunk in steps');
    if (seen.message === undefined) return done;
    // A size that was refused is due for ever where it is not what the volume fails by.
    const waitMs = seen.state === 'ready' ? this.#fitter.findWait(id) : undefined;
    return again(waitMs ?? AGAIN_MS, 'the node cannot provide a volume as it is asked for');
  }

  /** Says how far copies are, without looking at the disk. */
  async #reportCopies(volume: AssignedVolume): Promise<ReconcileResult> {
    const before = this.#said.get(volume.id);
    const seen = before?.state === 'ready' ? await this.#replication?.describe(volume) : undefined;
    const isKnown = seen?.epoch !== undefined && this.#wanted?.get(volume.id) === volume;
    const fence = this.fence.describe(volume);
    if (before && isKnown) await this.#say(volume, { ...withoutReplication(before), ...fence, ...seen });
    return done;
  }

  async #bringAbout(volume: AssignedVolume): Promise<SeenVolume> {
    const { id } = volume;
    try {
      if (volume.type === 'tmpfs') {
        return { id, driver: 'tmpfs', ...asAsked(volume), ...(volume.isDeleted ? GONE : IN_MEMORY) };
      }
      if (volume.type === 'bind') return await this.#findFolder(volume);
      const driver = this.#demandDriver(id);
      if (volume.isDeleted) {
        await this.#replication?.demandOrder(volume);
        const user = await this.#findUser(id, { orReader: true });
        // Who leads the replica keeper may be away: what read it here before it moved is stopped later.
        if (user !== undefined)
          throw new VolumeFault('refused', `${user} has it mounted; it is removed when that has ended`);
        await driver.remove(id, { volume: volume.name, replication: await this.#replication?.remember(id) });
        await this.#replication?.remove(id);
        this.#used.delete(id);
        return { id, state: 'removed' };
      }
      const { sizeBytes } = await (this.#replication ?? driver).materialise(volume);
      const size = this.#replication?.isGrown(id)
        ? { capacityBytes: sizeBytes, targetBytes: volume.sizeBytes }
        : await this.#fitter.fit(driver, volume, sizeBytes, this.#used.get(id));
      await this.fence.prepare(id, () => driver.mountPoint(id));
      const copies = { ...(await this.#replication?.settle(volume)), ...this.fence.describe(volume) };
      const limits = driver.describe().limits.join(' ');
      const about = { driver: driver.name, ...(limits !== '' && { limits }) };
      return { id, state: 'ready', ...about, ...size, ...copies, ...(await this.#measure(id, driver)) };
    } catch (thrown) {
      const error = asError(thrown);
      this.#env.log.warn('a volume cannot be provided, retrying', { volume: id, error });
      const isMissing = error instanceof VolumeFault && error.why === 'not_found';
      const known = { ...(await this.#replication?.recall(id)), ...(isMissing && { isMissing }) };
      const more = { ...known, ...this.fence.describe(volume) };
      return { id, state: 'failed', message: normaliseMessage(error.message), ...more };
    }
  }

  /** A file that goes away while it is counted must not make a volume useless. */
  async #measure(id: string, driver: VolumeDriver): Promise<Pick<SeenVolume, 'usedBytes'>> {
    try {
      const { usedBytes } = await driver.usage(id);
      this.#used.set(id, usedBytes);
      return { usedBytes };
    } catch (thrown) {
      this.#env.log.debug('a volume cannot be measured', { volume: id, error: asError(thrown) });
      const usedBytes = this.#used.get(id);
      return usedBytes === undefined ? {} : { usedBytes };
    }
  }

  #demand(id: string): AssignedVolume {
    const volume = this.#wanted?.get(id);
    if (!volume || volume.isDeleted) throw new VolumeMissingFault(id, 'is not on this node');
    return volume;
  }

  #demandDriver(id: string): VolumeDriver {
    const { volumes } = this.#env;
    if (volumes) return volumes;
    throw new VolumeMissingFault(id, 'has no place here: the agent was started without a folder for volumes');
  }

  #demandFolders({ id }: AssignedVolume): BoundFolders {
    const { binds } = this.#env;
    if (binds) return binds;
    throw new VolumeMissingFault(id, 'is of type bind, which this agent does not provide');
  }

  /** Its files are not the agent's: they are neither made nor measured nor removed. */
  async #findFolder(volume: AssignedVolume): Promise<SeenVolume> {
    const { id } = volume;
    if (volume.isDeleted) {
      await this.#env.binds?.release(id);
      return { id, ...GONE };
    }
    await this.#demandFolders(volume).check(volume);
    return { id, state: 'ready', driver: 'bind', limits: BoundFolders.limits, ...asAsked(volume) };
  }

  async #say(volume: AssignedVolume, seen: SeenVolume): Promise<void> {
    const { id } = volume;
    const before = this.#said.get(id);
    // The agent may have begun to end since this was looked at.
    const news = this.fence.isWithdrawn ? withoutPromise(seen) : seen;
    if (before && !isNews(before, news, volume.sizeBytes)) return;
    const report = this.#report([news]);
    this.#reporting.add(report);
    this.#unanswered.add(id);
    try {
      await report;
      this.#said.set(id, news);
      this.#unanswered.delete(id);
    } finally {
      this.#reporting.delete(report);
    }
    await this.fence.confirm(news);
  }
}

function withoutPromise(seen: SeenVolume): SeenVolume {
  const { fencesAfterSeconds: _withdrawn, ...rest } = seen;
  return { ...rest, unfenced: 'agent_stopping' };
}

/** The size of what has none of its own. */
function asAsked({ sizeBytes }: AssignedVolume): Pick<SeenVolume, 'capacityBytes' | 'targetBytes'> {
  return { capacityBytes: sizeBytes, targetBytes: sizeBytes };
}

function isNews(before: SeenVolume, seen: SeenVolume, sizeBytes: number): boolean {
  const members = [
    'state',
    'message',
    'driver',
    'limits',
    'capacityBytes',
    'targetBytes',
    'fencesAfterSeconds',
    'unfenced',
  ] as const;
  if (members.some(member => before[member] !== seen[member]) || isReplicationNews(before, seen)) return true;
  const moved = Math.abs((before.usedBytes ?? 0) - (seen.usedBytes ?? 0));
  return moved >= Math.max(NEWS_BYTES, sizeBytes / 100);
}
