import type { Duplex, Readable } from 'node:stream';

import type { VolumeTerm } from '../../../crds/volume/index.js';
import { type Clock, sleep } from '../../clock/index.js';
import { failpoint } from '../../failpoint/index.js';
import { asError } from '../../fault/index.js';
import { CHECKSUM_BYTES, StreamChecksum, type VolumeDriver } from '../volumes/index.js';
import type { Bandwidth } from './bandwidth.js';
import { type BegunTransfer, isSyncName, parsePeerMessage, type PeerMessages, toRejectionFault } from './messages.js';
import { PeerFault } from './peers.js';
import { PeerWire } from './wire.js';

/** For so many times the stall time a receiver may stay where it is with what was sent to it; twice that when it has all. */
const PATIENCE = 10;

/** Frames are about this long where nothing bounds the rate: shorter ones cost more in sum, longer ones keep the next waiting. */
const BATCH_BYTES = 256 * 1024;

/** That of a stream which is not the one that was begun: its receiver lets go of what it has. */
const OTHER_CHECKSUM = 'f'.repeat(2 * CHECKSUM_BYTES);

/** A snapshot for copies, and the moment that it shows. */
export interface SyncSnapshot {
  readonly name: string;
  readonly at: string;
  /** It is the last one before the volume moves in that epoch. */
  readonly finalFor?: number | undefined;
}

export interface ChosenSnapshot extends SyncSnapshot {
  /** What led to it. */
  readonly origins?: readonly string[] | undefined;
  /** What has arrived of it when its transfer was cut. */
  readonly begun?: BegunTransfer | undefined;
}

export interface SendOrder {
  readonly volume: string;
  /** The one in which it is sent. */
  readonly term: VolumeTerm;
  /** Which snapshot is to be sent, when the receiver has said what it has. */
  readonly choose: (held: PeerMessages['held']) => Promise<ChosenSnapshot>;
  /** A difference was refused: everything is sent. */
  readonly isWhole?: boolean | undefined;
  /** Called with what is about to be read, before it is: it must stay until the end. */
  readonly hold: (names: readonly string[]) => void;
  /** How much a whole snapshot, or the difference to a parent, may come to. */
  readonly estimate: (parent: string | undefined) => Promise<number | undefined>;
  /** A transfer that was cut goes on: so much of it has arrived. */
  readonly onContinued?: (arrived: number, totalBytes: number | undefined) => void;
  readonly onProgress: (sentBytes: number, totalBytes: number | undefined) => void;
}

export interface SendTools {
  readonly clock: Clock;
  readonly driver: VolumeDriver;
  readonly bandwidth: Bandwidth;
  readonly stallMs: number;
  readonly signal: AbortSignal;
}

/** Brings the receiver at the other end to a snapshot, by the difference to the newest that both have; answers which. */
export async function sendSnapshot(stream: Duplex, order: SendOrder, tools: SendTools): Promise<SyncSnapshot> {
  const { volume, term } = order;
  const wire = new PeerWire(stream, tools);
  const onAbort = () => wire.close();
  tools.signal.addEventListener('abort', onAbort, { once: true });
  try {
    await wire.writeLine({ volume, ...term, driver: tools.driver.name });
    const held = parsePeerMessage(await wire.readLine(), 'held', 'refused');
    if (held.kind === 'refused') throw toRejectionFault(held.refused);
    const { begun, origins, ...chosen } = await order.choose(held);
    const { name: snapshot, at, finalFor } = chosen;
    if (held.snapshots.includes(snapshot)) {
      await wire.writeLine({ snapshot, at, finalFor, origins, isHeld: true });
      await readOutcome(
        wire,
        snapshot,
        watchArrival(tools, () => ({ sent: 0, isAll: true })),
      );
    } else {
      const found =
        order.isWhole || begun ? undefined : await findParent(tools.driver, volume, snapshot, held.snapshots);
      const parent = begun ? begun.parent : found;
      order.hold(parent === undefined ? [snapshot] : [snapshot, parent]);
      const bytes = await order.estimate(parent);
      if (begun) order.onContinued?.(begun.arrived, bytes);
      await wire.writeLine({ snapshot, at, finalFor, parent, bytes, origins, from: begun?.arrived });
      await transfer(wire, order, tools, { snapshot, parent, bytes, begun });
    }
    return chosen;
  } finally {
    tools.signal.removeEventListener('abort', onAbort);
    wire.close();
  }
}

/** The newest snapshot that both ends have, other than the one that is sent. */
async function findParent(driver: VolumeDriver, volume: string, snapshot: string, held: readonly string[]) {
  const own = (await driver.listSnapshots(volume)).filter(isSyncName);
  return own.findLast(name => name !== snapshot && held.includes(name));
}

interface SnapshotTransfer {
  readonly snapshot: string;
  readonly parent: string | undefined;
  readonly bytes: number | undefined;
  readonly begun: BegunTransfer | undefined;
}

async function transfer(wire: PeerWire, order: SendOrder, tools: SendTools, what: SnapshotTransfer): Promise<void> {
  const { driver, clock } = tools;
  const { snapshot, parent, bytes, begun } = what;
  const { stream, checksum, giveBack } = await driver.send(order.volume, snapshot, parent);
  const ended = new AbortController();
  let cause: Error | undefined;
  let sent = begun?.arrived ?? 0;
  const known = begun && new KnownBeginning(begun, giveBack);
  const fail = (thrown: unknown) => {
    cause ??= asError(thrown);
    stream.destroy();
    wire.close();
    ended.abort();
  };
  const send = async () => {
    for await (const batch of known ? known.skip(readBatches(stream)) : readBatches(stream)) {
      const onSent = giveBack && (() => batch.forEach(giveBack));
      const pieces = tools.bandwidth.split(batch);
      for (const [at, piece] of pieces.entries()) {
        const length = piece.reduce((sum, chunk) => sum + chunk.length, 0);
        await tools.bandwidth.take(length, ended.signal);
        await wire.writeFrame(piece, at === pieces.length - 1 ? onSent : undefined);
        sent += length;
        failpoint('volume.sending');
        order.onProgress(sent, bytes === undefined ? undefined : Math.max(bytes, sent));
      }
    }
    ended.abort();
    await wire.writeEnd(known?.isOther ? OTHER_CHECKSUM : await checksum);
  };
  const keepAlive = async () => {
    while (!ended.signal.aborted) {
      await sleep(clock, wire.aliveMs, ended.signal);
      if (!ended.signal.aborted) await wire.writeAlive();
    }
  };
  const isStuck = watchArrival(tools, () => ({ sent, isAll: ended.signal.aborted }));
  await Promise.all([send().catch(fail), keepAlive().catch(fail), readOutcome(wire, snapshot, isStuck).catch(fail)]);
  if (cause) throw cause;
}

/** What has come of a stream meanwhile, up to about so much, again and again to its end. */
async function* readBatches(stream: Readable): AsyncGenerator<readonly Buffer[]> {
  for await (const first of stream) {
    const batch = [first as Buffer];
    let length = batch[0]!.length;
    while (length < BATCH_BYTES) {
      const next = stream.read() as Buffer | null;
      if (next === null) break;
      batch.push(next);
      length += next.length;
    }
    yield batch;
  }
}

/** What the receiver has of a stream already: it is read and not sent, and compared with what has arrived before anything follows. */
class KnownBeginning {
  /** What was read is not what has arrived. */
  isOther = false;
  readonly #begun: BegunTransfer;
  readonly #giveBack: ((chunk: Buffer) => void) | undefined;

  constructor(begun: BegunTransfer, giveBack: ((chunk: Buffer) => void) | undefined) {
    this.#begun = begun;
    this.#giveBack = giveBack;
  }

  /** What comes after it; nothing where it is another. */
  async *skip(batches: AsyncIterable<readonly Buffer[]>): AsyncGenerator<readonly Buffer[]> {
    const sum = new StreamChecksum();
    let left = this.#begun.arrived;
    this.isOther = true;
    for await (const batch of batches) {
      const more: Buffer[] = [];
      for (const chunk of batch) {
        const known = chunk.subarray(0, left);
        sum.add(known);
        left -= known.length;
        if (known.length < chunk.length) more.push(chunk.subarray(known.length));
        else this.#giveBack?.(chunk);
      }
      if (left > 0) continue;
      if (this.isOther && sum.toHex() !== this.#begun.checksum) return;
      this.isOther = false;
      if (more.length > 0) yield more;
    }
  }
}

type ArrivalWatch = (arrived: number) => boolean;

/** Detects that a connected receiver makes no progress: what is read for it is kept, at the cost of the workload. */
function watchArrival(
  { clock, stallMs }: SendTools,
  count: () => { readonly sent: number; readonly isAll: boolean },
): ArrivalWatch {
  let most = 0;
  let movedAt = clock.monotonic();
  return arrived => {
    const { sent, isAll } = count();
    const isIdle = arrived >= sent && !isAll;
    if (arrived > most || isIdle) movedAt = clock.monotonic();
    most = Math.max(most, arrived);
    return clock.monotonic() - movedAt > stallMs * PATIENCE * (arrived < sent ? 1 : 2);
  };
}

/** Reads how the receiver comes along, to the end. */
async function readOutcome(wire: PeerWire, snapshot: string, isStuck: ArrivalWatch): Promise<void> {
  for (;;) {
    const said = parsePeerMessage(await wire.readLine(), 'arrived', 'done', 'refused');
    if (said.kind === 'refused') throw toRejectionFault(said.refused);
    if (said.kind === 'arrived') {
      if (!isStuck(said.arrived)) continue;
      throw new PeerFault('the other node comes no further with what was sent to it; see its disk and its agent');
    }
    if (said.done === snapshot) return;
    throw new PeerFault('the other node has stored another snapshot than the one that was sent to it; see its agent');
  }
}
