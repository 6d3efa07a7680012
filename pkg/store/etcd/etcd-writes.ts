import { keys } from '../../../crds/keys/index.js';
import { type Clock, type Random, sleep } from '../../clock/index.js';
import { Fault } from '../../fault/index.js';
import { encode } from '../documents.js';
import { OutcomeUnknownFault, StoreUnavailableFault } from '../faults.js';
import type { Revision } from '../entry.js';
import type { Change, Put, WatchEvent, Verdict } from '../store.js';
import { type Epoch, Epochs } from './epochs.js';
import type { EtcdReads } from './etcd-reads.js';
import { GroupCommit } from './group-commit.js';
import { AnswerLostFault, ExhaustedFault } from './grpc.js';
import { type BatchResponse, decodeBatch, encodeBatch, encodePut, type EncodableChange } from './messages.js';
import { settleOutcome } from './settlement.js';
import type { EtcdClient } from './etcd-client.js';

/** Far longer than any request can be under way. */
const EPOCH_CLOSED_FOR_SECONDS = 3_600;

/** How often one batch finds out whether etcd takes data again. */
const TRY_QUOTA_EVERY_MS = 1_000;

/** Between two attempts to read what became of a change. */
const READ_AGAIN_MS = 100;

export interface EtcdWritesOptions {
  readonly client: EtcdClient;
  readonly reads: EtcdReads;
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
  /** How long a lost answer is looked into. */
  readonly settleWithinMs: number;
  readonly grant: (ttlSeconds: number) => Promise<{ readonly id: string }>;
  readonly history: (after: Revision, until: Revision) => Promise<readonly WatchEvent[]>;
}

/** The batch was sent, and which of its changes were made is not known. */
class UnsettledFault extends Fault {
  readonly retriable = true;
  readonly epoch: Epoch;
  /** A revision from before the batch was sent. */
  readonly after: Revision;
  /** etcd has answered: what was not made by now never will be. */
  readonly isDecided: boolean;

  constructor(epoch: Epoch, after: Revision, cause: unknown) {
    super('the outcome of a batch is not known', { cause });
    this.epoch = epoch;
    this.after = after;
    this.isDecided = cause instanceof ExhaustedFault;
  }
}

/** The batch came after its epoch was closed. Nothing of it was stored. */
class EpochClosedFault extends Fault {
  readonly retriable = true;
}

/** Makes changes, in groups, each exactly once, and finds out what became of those whose answer was lost. */
export class EtcdWrites {
  readonly #options: EtcdWritesOptions;
  readonly #epochs: Epochs;
  readonly #group: GroupCommit;
  /** Until then nothing is put: etcd has just said that it takes no more. */
  #exhaustedUntil = 0;

  constructor(options: EtcdWritesOptions) {
    this.#options = options;
    this.#epochs = new Epochs({
      clock: options.clock,
      random: options.random,
      put: key => this.#putEpoch(key),
    });
    this.#group = new GroupCommit({
      send: batch => this.#send(batch),
      clock: options.clock,
      waitAtMostMs: options.settleWithinMs,
    });
  }

  async commit(change: Change): Promise<Verdict> {
    const wired = wiredChange(change);
    if (change.puts.length > 0 && this.#options.clock.monotonic() < this.#exhaustedUntil) throw exhausted();
    if (this.#options.reads.seen === 0) await this.#options.reads.revision();
    let deadline: number | undefined;
    for (;;) {
      try {
        return await this.#group.commit(wired);
      } catch (thrown) {
        if (thrown instanceof EpochClosedFault) continue;
        if (!(thrown instanceof UnsettledFault)) throw thrown;
        deadline ??= this.#options.clock.monotonic() + this.#options.settleWithinMs;
        const revision = await this.#settle(change, thrown, deadline);
        if (revision !== undefined) return { stored: true, revision };
        if (thrown.isDecided && change.puts.length > 0) throw exhausted(thrown);
        if (this.#options.clock.monotonic() >= deadline) {
          throw new StoreUnavailableFault('etcd does not answer', { cause: thrown });
        }
      }
    }
  }

  /**
   * Makes one put, guarded by the last revision of its key, in a way that the quota does not count: for what must be recorded while
   * etcd takes no more. Gives its revision; undefined when the guard did not hold. A caller without an answer reads the key again.
   */
  async putUncounted(put: Put, at: Revision): Promise<Revision | undefined> {
    const change = { guards: [{ key: put.key, at }], puts: [put], deletes: [] };
    const { revision, open, verdicts } = await this.#sendUncounted(wiredChange(change));
    return open && verdicts[0] ? revision : undefined;
  }

  async #sendUncounted(change: EncodableChange): Promise<BatchResponse> {
    const { client, root } = this.#options;
    const batch = encodeBatch(root, this.#epochs.current.key, [change], { isFree: true });
    return decodeBatch(await client.callOnce('KV/Txn', batch));
  }

  async #settle(change: Change, lost: UnsettledFault, deadline: number): Promise<Revision | undefined> {
    const { reads, history, clock } = this.#options;
    const until = await (lost.isDecided ? this.#markRevision() : this.#epochs.close(lost.epoch, deadline));
    if (until === undefined) throw new OutcomeUnknownFault({ cause: lost });
    const window = { after: lost.after, until };
    for (;;) {
      try {
        return await settleOutcome(change, window, { entry: (key, at) => reads.entry(key, at), history });
      } catch (cause) {
        const inTime = clock.monotonic() + READ_AGAIN_MS < deadline;
        if (!(cause instanceof StoreUnavailableFault && inTime)) throw new OutcomeUnknownFault({ cause });
      }
      await sleep(clock, READ_AGAIN_MS);
    }
  }

  async #send(batch: readonly EncodableChange[]): Promise<BatchResponse> {
    const { client, reads, root } = this.#options;
    const epoch = this.#epochs.current;
    const after = reads.seen;
    try {
      const answer = decodeBatch(await client.callOnce('KV/Txn', encodeBatch(root, epoch.key, batch)));
      reads.saw(answer.revision);
      if (!answer.open) throw new EpochClosedFault('a batch came after its epoch was closed');
      if (answer.verdicts.length !== batch.length) throw new AnswerLostFault('etcd gave too few verdicts');
      return answer;
    } catch (thrown) {
      if (!(thrown instanceof AnswerLostFault || thrown instanceof RangeError)) throw thrown;
      if (thrown instanceof ExhaustedFault) this.#exhaustedUntil = this.#options.clock.monotonic() + TRY_QUOTA_EVERY_MS;
      else this.#epochs.leave(epoch);
      throw new UnsettledFault(epoch, after, thrown);
    }
  }

  /**
   * Makes a revision below the root that history can be read up to, in a way that the quota does not count. Where etcd counts
   * it all the same, the present revision does: nothing was made when it has not moved.
   */
  async #markRevision(): Promise<Revision | undefined> {
    const put = { key: keys.barrier(), bytes: encode({}) };
    try {
      const { revision, open } = await this.#sendUncounted(wiredChange({ guards: [], puts: [put], deletes: [] }));
      return open ? revision : undefined;
    } catch {
      return this.#options.reads.revision().catch(() => undefined); // then the outcome stays unknown
    }
  }

  async #putEpoch(key: string): Promise<Revision> {
    const { client, reads, root, grant } = this.#options;
    const { id } = await grant(EPOCH_CLOSED_FOR_SECONDS);
    const put = encodePut(root, { key, bytes: Buffer.alloc(0), lease: id });
    const { revision } = decodeBatch(await client.callOnce('KV/Put', put));
    reads.saw(revision);
    return revision;
  }
}

function exhausted(cause?: unknown): StoreUnavailableFault {
  const remedy =
    'the controllers make room; if that lasts, enlarge its quota (docs/OPERATIONS.md), then delete what is not needed';
  return new StoreUnavailableFault(`etcd takes no more data: ${remedy}`, { cause });
}

/** Characters take three bytes at most. */
const BYTES_PER_CHARACTER = 3;

function wiredChange({ guards, puts, deletes }: Change): EncodableChange {
  let characters = 0;
  let size = 0;
  for (const { key } of guards) characters += key.length;
  for (const key of deletes) characters += key.length;
  for (const { key, bytes } of puts) {
    characters += key.length;
    size += bytes.length;
  }
  return { guards, puts, deletes, size: size + characters * BYTES_PER_CHARACTER };
}
