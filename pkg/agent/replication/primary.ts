import { formatBytes } from '../../../crds/grammar/index.js';
import type {
  AssignedReplication,
  AssignedVolume,
  FinalSnapshot,
  SeenCopy,
  VolumePeer,
} from '../../../crds/volume/index.js';
import { asError } from '../../fault/index.js';
import { again, done, type ReconcileResult, WorkQueue } from '../../reconcile/index.js';
import { normaliseMessage } from '../normalise-message.js';
import { Bandwidth } from './bandwidth.js';
import { chooseAskMs, type CopyFacts, decideSync, describeCopy, findRestLook, measureWhole } from './copies.js';
import { RESUMABLE_MS } from './incoming-transfer.js';
import type { PeerMessages } from './messages.js';
import { PeerFault, type Peers } from './peers.js';
import type { ReplicationRecord } from './record.js';
import { sendSnapshot } from './send-snapshot.js';
import { SyncSnapshots, type SyncSnapshotsParts } from './sync-snapshots.js';

const BACKOFF = { firstMs: 2_000, capMs: 60_000 };
const CONCURRENCY = 4;
/** Without snapshots online a copy costs as much as the volume holds, and is taken less often. */
const OFFLINE_FACTOR = 12;
/** How often it is looked whether something still writes to a volume that is to move. */
const FINAL_MS = 1_000;
/** How often progress is reported. */
const PROGRESS_MS = 2_000;
/** Begins the key of a look at all copies at rest, before how often they are looked at. */
const AT_REST = 'at-rest ';

export interface PrimaryParts extends SyncSnapshotsParts {
  readonly peers: Peers;
  readonly stallMs: number;
  /** It is known better how far copies are. */
  readonly onChange: (id: string) => void;
}

/** What is known of one copy beside the record; lost with the process. */
interface CopyMemory extends CopyFacts {
  readonly askAt?: number;
  /** What differs was refused: everything is sent. */
  readonly isWhole?: boolean;
  /** When a transfer was cut that may go on: what it sends is kept. */
  readonly cutAt?: number | undefined;
}

/** A copy of which nothing has changed. */
interface IdleCopy {
  readonly intervalMs: number;
  /** The snapshot that it shows. */
  readonly newest: string;
}

/** Brings the copies of the volumes whose primary this node is up to date, each node by itself. Nothing is written while nothing changes. */
export class PrimaryRounds {
  readonly #parts: PrimaryParts;
  readonly #snapshots: SyncSnapshots;
  readonly #bandwidth: Bandwidth;
  /** By `<volume> <node>`, as the queue. */
  readonly #copies = new Map<string, CopyMemory>();
  readonly #resting = new Map<string, IdleCopy>();
  readonly queue: WorkQueue;

  constructor(parts: PrimaryParts) {
    this.#parts = parts;
    this.#snapshots = new SyncSnapshots(parts);
    const { clock, random } = parts;
    this.#bandwidth = new Bandwidth(clock, parts.peers.bandwidth);
    const options = { clock, random, concurrency: CONCURRENCY, backoff: BACKOFF };
    this.queue = new WorkQueue(
      (key, signal) => (key.startsWith(AT_REST) ? this.#lookAtRest(key) : this.#round(key, signal)),
      options,
    );
  }

  /** Has the copies of a volume looked at. */
  check({ id, replication }: AssignedVolume): void {
    if (replication?.role === 'primary') {
      this.#snapshots.reopen(id);
      for (const { nodeId, address } of replication.peers) if (address !== undefined) this.queue.add(toKey(id, nodeId));
      // A node that is named again later may have lost what it had: a round without a peer lets go of what is known of
      // others, and of what an earlier process knew of them.
      for (const key of [...this.#forget(id, replication.peers), toKey(id, '')]) this.queue.add(key);
      return;
    }
    this.#snapshots.forget(id);
    this.#forget(id, []);
  }

  /** Forgets the copies of a volume on other nodes than these. */
  #forget(id: string, peers: readonly VolumePeer[]): readonly string[] {
    const named = new Set(peers.map(({ nodeId }) => toKey(id, nodeId)));
    const others = [...this.#copies.keys()].filter(key => key.startsWith(`${id} `) && !named.has(key));
    for (const key of others) this.#copies.delete(key);
    return others;
  }

  /** The last snapshot of a volume that is to move, once nothing writes to it any more. */
  findFinal(id: string): FinalSnapshot | undefined {
    return this.#snapshots.findFinal(id);
  }

  /** How far the copies of a volume are. */
  describe({ id }: AssignedVolume, { epoch, peers }: AssignedReplication, record: ReplicationRecord): SeenCopy[] {
    return peers.map(peer => describeCopy(peer, epoch, record, this.#copies.get(toKey(id, peer.nodeId)) ?? {}));
  }

  async #round(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { driver, clock } = this.#parts;
    const [id = '', nodeId = ''] = key.split(' ');
    const { replication, record } = (await this.#snapshots.findPrimary(id)) ?? {};
    const peer = replication?.peers.find(each => each.nodeId === nodeId);
    if (record && !peer) {
      this.#copies.delete(key); // a transfer that ended since has noted something again
      this.#snapshots.release(id, nodeId);
      await this.queue.runAside(() => this.#snapshots.letGo(id)); // its turn may come late: a snapshot takes long
    }
    if (!record || peer?.address === undefined) return done; // it is queued again when it is assigned or settled
    const factor = driver.describe().snapshotsOnline ? 1 : OFFLINE_FACTOR;
    const intervalMs = replication!.intervalSeconds * 1000 * factor;
    const { askAt } = this.#copies.get(key) ?? {};
    const last = record.common?.[nodeId];
    const has = last?.epoch === record.epoch ? last.snapshot : undefined;
    const final = await this.#finish(id, replication!);
    if (final === 'written') return again(FINAL_MS, 'the last snapshot is taken when nothing writes any more');
    const askInMs = askAt === undefined ? undefined : askAt - clock.monotonic();
    const looked = final ? undefined : await this.#snapshots.look(id, record);
    const isBehind = looked ? looked.isChanged || looked.newest !== has : final!.snapshot !== has;
    const step = looked ? decideSync({ ...looked, has, askInMs, intervalMs }) : isBehind ? 'newest' : 'rest';
    if (step === 'rest') {
      if (this.#copies.get(key)?.lagBytes !== 0) {
        this.#note(key, { lagBytes: 0 });
        this.#parts.onChange(id);
      }
      this.#rest(key, { intervalMs, newest: has! });
      return done;
    }
    if (isBehind) this.#note(key, { lagBytes: undefined });
    await this.queue.runAside(() => this.#sync(id, peer, { record, isFresh: step === 'fresh', signal }));
    return again(intervalMs, 'the copy is brought up to date again');
  }

  #rest(key: string, rest: IdleCopy): void {
    this.#resting.set(key, rest);
    const waitMs = findRestLook(rest.intervalMs, this.#parts.clock.monotonic());
    this.queue.addAfter(`${AT_REST}${rest.intervalMs}`, waitMs);
  }

  /** Has those brought up to date that are not at rest any more. None waits for another, since a disk may hang. */
  async #lookAtRest(key: string): Promise<ReconcileResult> {
    for (const [copy, rest] of this.#resting) {
      if (key !== `${AT_REST}${rest.intervalMs}`) continue;
      this.#resting.delete(copy);
      void this.#isAtRest(copy, rest).then(isSo => (isSo ? this.#rest(copy, rest) : this.queue.add(copy)));
    }
    return done;
  }

  async #isAtRest(key: string, { newest }: IdleCopy): Promise<boolean> {
    const [id = ''] = key.split(' ');
    const { askAt = 0 } = this.#copies.get(key) ?? {};
    if (askAt <= this.#parts.clock.monotonic()) return false;
    return this.#snapshots.isUnchanged(id, newest).catch(() => false);
  }

  /** The last snapshot of a volume that is to move; undefined of any other. */
  async #finish(id: string, { finalFor }: AssignedReplication): Promise<FinalSnapshot | 'written' | undefined> {
    if (finalFor === undefined) return undefined;
    const final = await this.#snapshots.finish(id);
    this.#parts.onChange(id);
    return final ?? 'written';
  }

  async #sync(id: string, peer: VolumePeer, { record, isFresh, signal }: SyncTask): Promise<void> {
    const { peers, clock, random, driver, stallMs, log, onChange } = this.#parts;
    const { nodeId, address = '', publicKey } = peer;
    const key = toKey(id, nodeId);
    const { isWhole } = this.#copies.get(key) ?? {};
    let reportedAt = clock.monotonic();
    let wholeSince: number | undefined;
    let sentInAll = 0;
    const onProgress = (sentBytes: number, totalBytes: number | undefined) => {
      sentInAll = sentBytes;
      const lagBytes = totalBytes === undefined ? undefined : toKnownLag(totalBytes - sentBytes);
      this.#note(key, { transfer: { sentBytes, totalBytes }, lagBytes });
      if (clock.monotonic() - reportedAt < PROGRESS_MS) return;
      reportedAt = clock.monotonic();
      onChange(id);
    };
    try {
      const stream = await peers.connect({ address, publicKey }, signal);
      const order = {
        volume: id,
        term: { epoch: record.epoch, generationId: record.generationId },
        isWhole,
        choose: (held: PeerMessages['held']) =>
          this.#snapshots.choose(id, isFresh, isWhole ? withoutDifference(held) : held),
        hold: (names: readonly string[]) => this.#snapshots.hold(id, nodeId, names),
        estimate: (parent: string | undefined) => {
          wholeSince = parent === undefined ? clock.monotonic() : undefined;
          return this.#snapshots.estimate(id, parent);
        },
        onContinued: (arrived: number, totalBytes: number | undefined) => {
          const because = `${formatBytes(arrived)} of ${formatBytes(Math.max(arrived, totalBytes ?? 0))}`;
          log.info('a copy goes on from where its transfer was cut', { volume: id, node: nodeId, because });
          wholeSince = undefined; // it took longer than from here
          onProgress(arrived, totalBytes);
        },
        onProgress,
      };
      const sent = await sendSnapshot(stream, order, { clock, driver, bandwidth: this.#bandwidth, stallMs, signal });
      this.#snapshots.release(id, nodeId);
      await this.#snapshots.noteSynced(id, nodeId, sent);
      this.#note(key, {
        transfer: undefined,
        failure: undefined,
        ...(sentInAll > 0 && { lagBytes: undefined }), // what was written meanwhile is seen at the next look
        askAt: clock.monotonic() + chooseAskMs(random),
        isWhole: false,
        cutAt: undefined,
        ...(wholeSince !== undefined && measureWhole(sentInAll, clock.monotonic() - wholeSince)),
      });
    } catch (thrown) {
      const error = asError(thrown);
      await this.#noteFailure(id, nodeId, { error, record, isBegun: sentInAll > 0 });
      throw error;
    } finally {
      onChange(id);
    }
  }

  async #noteFailure(id: string, nodeId: string, { error, record, isBegun }: FailedSync): Promise<void> {
    const { clock, log } = this.#parts;
    const key = toKey(id, nodeId);
    const before = this.#copies.get(key);
    const rejection = error instanceof PeerFault ? error.rejection : undefined;
    const cutAt = isBegun && rejection === undefined ? clock.monotonic() : before?.cutAt;
    if (cutAt === undefined || clock.monotonic() - cutAt >= RESUMABLE_MS) this.#snapshots.release(id, nodeId);
    const failure = normaliseMessage(error.message);
    const isNew = before?.failure !== failure;
    if (isNew) log.warn('a copy cannot be brought up to date, retrying', { volume: id, node: nodeId, error });
    const { snapshot } = record.common?.[nodeId] ?? {};
    const lagBytes = snapshot === undefined ? undefined : toKnownLag(await this.#snapshots.countSince(id, snapshot));
    const isWhole = rejection === 'bad_stream' || before?.isWhole;
    this.#note(key, { transfer: undefined, failure, lagBytes, cutAt, ...(isWhole && { isWhole }) });
    await this.#snapshots.makeRoom(id, nodeId);
  }

  #note(key: string, change: CopyMemory): void {
    this.#copies.set(key, { ...this.#copies.get(key), ...change });
  }
}

/** That nothing is missing is known by a look alone: what was sent may not have arrived, and what was written is an estimate. */
function toKnownLag(bytes: number | undefined): number | undefined {
  return bytes === 0 ? undefined : bytes;
}

/** Of what has arrived of a difference that was refused since, nothing is used. */
function withoutDifference({ begun, ...held }: PeerMessages['held']): PeerMessages['held'] {
  return begun?.parent === undefined ? { ...held, begun } : held;
}

interface FailedSync {
  readonly error: Error;
  readonly record: ReplicationRecord;
  /** Something of it was sent. */
  readonly isBegun: boolean;
}

interface SyncTask {
  readonly record: ReplicationRecord;
  readonly isFresh: boolean;
  readonly signal: AbortSignal;
}

function toKey(id: string, nodeId: string): string {
  return `${id} ${nodeId}`;
}
