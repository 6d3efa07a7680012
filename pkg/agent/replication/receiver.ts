import { isDeepStrictEqual } from 'node:util';

import { formatBytes } from '../../../crds/grammar/index.js';
import { type AssignedVolume, type DivergentBytes, isSameTerm, type VolumeTerm } from '../../../crds/volume/index.js';
import { type Clock, sleep } from '../../clock/index.js';
import { failpoint } from '../../failpoint/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import { type VolumeDriver, VolumeFault } from '../volumes/index.js';
import type { SerialTasks } from '../volumes/serial-tasks.js';
import { CutTransfers } from './cut-transfers.js';
import { IncomingTransfer, type TransferSource } from './incoming-transfer.js';
import {
  isIncluded,
  isSyncName,
  parsePeerMessage,
  type PeerMessages,
  type PeerRejection,
  readSyncName,
} from './messages.js';
import { type PeerConnection, PeerFault } from './peers.js';
import { formatAsideName, listForCopies, type ReplicationRecord, type ReplicationRecords } from './record.js';
import { ReceivingRoom } from './receiving-room.js';
import { PeerWire } from './wire.js';

/** How often it is logged at most that strangers were turned away. */
const STRANGERS_MS = 60_000;

export interface ReceiverParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly driver: VolumeDriver;
  readonly records: ReplicationRecords;
  /** By volume: of what reads and writes its record. */
  readonly turns: SerialTasks;
  readonly stallMs: number;
  /** A volume as the control plane has last assigned it. */
  readonly find: (id: string) => AssignedVolume | undefined;
  /** A copy has come further. */
  readonly onReceived: (id: string) => void;
}

interface Visit {
  readonly wire: PeerWire;
  readonly publicKey: string;
  readonly term: VolumeTerm;
  readonly ended: Promise<void>;
}

/**
 * Takes copies: of a volume that the control plane has assigned here as a replica, from the one node that it names as its primary,
 * in the term that it names. To any other node nothing is said, not even whether the volume is here.
 */
export class Receiver {
  readonly #parts: ReceiverParts;
  /** Who sends to each volume: one at a time. */
  readonly #visits = new Map<string, Visit>();
  readonly #room: ReceivingRoom;
  readonly #cut: CutTransfers;
  #strangers = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
    this.#room = new ReceivingRoom(parts);
    const isAllowed = ({ volume, term, publicKey }: TransferSource) => !this.#judge({ volume, ...term }, publicKey);
    this.#cut = new CutTransfers(parts.clock, isAllowed);
  }

  /** Whether a volume is larger than it was asked for, for what arrives. */
  isGrown(id: string): boolean {
    return this.#room.isGrown(id);
  }

  async handle({ stream, publicKey, admit }: PeerConnection): Promise<void> {
    const wire = new PeerWire(stream, this.#parts);
    try {
      const hello = parsePeerMessage(await wire.readLine(), 'hello');
      const rejection = this.#judge(hello, publicKey);
      if (rejection) return await this.#turnAway(wire, rejection);
      admit();
      await this.#visit(wire, hello, publicKey);
    } catch (thrown) {
      wire.close();
      this.#parts.log.debug('a connection for copies broke', { error: asError(thrown) });
    }
  }

  /** Ends what is being received of a volume, and waits until nothing of it is under way. */
  async end(id: string): Promise<void> {
    const visit = this.#visits.get(id);
    visit?.wire.close();
    await visit?.ended;
    await this.#cut.drop(id);
    this.#room.forget(id);
  }

  /** Ends what the control plane does not allow any more. */
  check(): void {
    for (const [volume, { wire, publicKey, term }] of this.#visits) {
      if (this.#judge({ volume, ...term }, publicKey)) wire.close();
    }
    this.#cut.check();
  }

  /** Nothing is received any more. */
  close(): void {
    this.#cut.close();
  }

  #judge({ volume: id, driver, ...term }: PeerMessages['hello'], publicKey: string): PeerRejection | undefined {
    const volume = this.#parts.find(id);
    const { replication } = volume ?? {};
    const isNamed = replication?.role === 'replica' && replication.peers.some(peer => peer.publicKey === publicKey);
    if (!isNamed || volume?.isDeleted) return 'not_named';
    if (!isSameTerm(term, replication)) return 'other_epoch';
    return driver === undefined || driver === this.#parts.driver.name ? undefined : 'other_driver';
  }

  async #turnAway(wire: PeerWire, refused: PeerRejection): Promise<void> {
    const now = this.#parts.clock.monotonic();
    if (refused === 'not_named') this.#strangers++;
    if (this.#strangers > 0 && now - this.#loggedAt >= STRANGERS_MS) {
      this.#parts.log.warn('agents were turned away that are not to send here', { count: this.#strangers });
      this.#loggedAt = now;
      this.#strangers = 0;
    }
    await wire.writeLine({ refused });
  }

  async #visit(wire: PeerWire, hello: PeerMessages['hello'], publicKey: string): Promise<void> {
    const { volume, epoch, generationId } = hello;
    const before = this.#visits.get(volume);
    before?.wire.close(); // the one that is named dials again only when it has given the other up
    const work = (async () => {
      await before?.ended;
      await this.#receive(wire, hello, publicKey);
    })();
    const visit = { wire, publicKey, term: { epoch, generationId }, ended: work.catch(() => undefined) };
    this.#visits.set(volume, visit);
    try {
      await work;
    } finally {
      if (this.#visits.get(volume) === visit) this.#visits.delete(volume);
    }
  }

  async #receive(wire: PeerWire, hello: PeerMessages['hello'], publicKey: string): Promise<void> {
    const { driver, records, log, onReceived } = this.#parts;
    const { volume, epoch, generationId } = hello;
    const record = await records.read(volume);
    const term = { epoch, generationId };
    if (record?.role !== 'replica' || !isSameTerm(record, term)) return wire.writeLine({ refused: 'not_ready' });
    const there = await driver.listSnapshots(volume);
    const held = listForCopies(there, record);
    const known = there.filter(isSyncName); // a copy that was set aside is not sent again either, when it counts again
    const { synced } = record;
    const isSent = synced !== undefined && isSyncName(synced.snapshot); // what was set aside here is the parent of no copy
    await wire.writeLine({ snapshots: known, begun: this.#cut.find(volume, term)?.describe() });
    const header = parsePeerMessage(await wire.readLine(), 'header');
    if (header.from === undefined) void this.#cut.drop(volume); // the driver waits until it is gone
    const { snapshot, at, parent, finalFor, origins = [] } = header;
    if (readSyncName(snapshot).epoch > epoch) throw new PeerFault('a snapshot is of an epoch to come');
    const apart = listApart(record, header, { there, held });
    const isOther = synced?.snapshot === snapshot && synced.at !== at;
    try {
      if (isOther) throw new PeerFault('the primary was set back while it ran; restart its agent');
      if (!known.includes(snapshot)) await this.#store(wire, { volume, term, publicKey }, header, known);
    } catch (thrown) {
      const error = asError(thrown);
      log.warn('a copy could not be received', { volume, error });
      await wire.writeLine({ refused: toPeerRejection(error) });
      if (error instanceof VolumeFault && error.why === 'no_space') {
        // Without a copy that counts no difference is worth its parent: everything is sent.
        const needed = new Set([...(synced ? [synced.snapshot, parent] : []), ...apart.map(({ name }) => name)]);
        const spare = held.filter(name => !needed.has(name));
        const isContained = isSent && apart.length === 0 && record.divergent === undefined;
        await this.#room.make(volume, { record, bytes: header.bytes, spare, isContained });
      }
      return wire.skip();
    }
    const now = { snapshot, at, ...term, ...(finalFor !== undefined && { finalFor }) };
    await this.#note(volume, { synced: now, origins }, apart);
    failpoint('volume.synced');
    const kept = new Set([snapshot, ...apart.map(({ name }) => name)]);
    for (const name of held) if (!kept.has(name)) await driver.dropSnapshot(volume, name);
    this.#room.forget(volume);
    await wire.writeLine({ done: snapshot });
    log.debug('a copy was received', { volume, because: parent === undefined ? 'whole' : 'difference' });
    onReceived(volume);
  }

  /** In turn: what was set aside may have been removed by order meanwhile, and is forgotten then, and no copy that counts. */
  async #note(
    id: string,
    arrived: Required<Pick<ReplicationRecord, 'synced' | 'origins'>>,
    apart: readonly DivergentBytes[],
  ): Promise<void> {
    const { driver, records, turns } = this.#parts;
    await turns.run(id, async () => {
      const { divergent = [], ...record } = (await records.read(id))!;
      if (isDeepStrictEqual(record.synced, arrived.synced)) return;
      const there = await driver.listSnapshots(id);
      if (!there.includes(arrived.synced.snapshot))
        throw new PeerFault('what was to become the copy is not here any more');
      const left = [...divergent, ...apart].filter(({ name }) => name !== arrived.synced.snapshot);
      await records.write(id, { ...record, ...(left.length > 0 && { divergent: left }), ...arrived });
    });
  }

  async #store(
    wire: PeerWire,
    source: TransferSource,
    header: PeerMessages['header'],
    known: readonly string[],
  ): Promise<void> {
    const { parent, isHeld } = header;
    const isKnown = parent === undefined || known.includes(parent);
    if (isHeld || !isKnown) throw new PeerFault('a snapshot that is not here is said to be');
    const transfer = this.#open(source, header);
    const ended = new AbortController();
    const reporting = this.#reportProgress(wire, () => transfer.arrived, ended.signal);
    try {
      const cut = await transfer.takeFrom(wire);
      if (!cut) return;
      await this.#cut.keep(transfer);
      throw cut;
    } finally {
      ended.abort();
      await reporting;
    }
  }

  /** What is announced: one that was cut, which goes on from where it was, or another. */
  #open(source: TransferSource, header: PeerMessages['header']): IncomingTransfer {
    const { driver, log } = this.#parts;
    const { volume, term } = source;
    if (header.from === undefined) return new IncomingTransfer(driver, source, header);
    if (!this.#cut.find(volume, term)?.isContinuedBy(header))
      throw new PeerFault('what is said to have arrived of a snapshot is not here any more');
    log.info('a copy goes on from where its transfer was cut', { volume, because: formatBytes(header.from) });
    return this.#cut.take(volume)!;
  }

  /** Reports to the sender how much has arrived, also while the disk is written and nothing arrives. */
  async #reportProgress(wire: PeerWire, count: () => number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#parts.clock, wire.aliveMs, signal);
      if (!signal.aborted) await wire.writeLine({ arrived: count() }).catch(() => undefined);
    }
  }
}

/**
 * What is here, or on a disk that is away, and is not in the history of what the primary sends: of a fresher copy, of a former primary, or
 * of another history in which the same epochs were issued. Only `origins` say what the primary has: the parent of what it sends may have
 * arrived there unrecorded, and go with the next snapshot.
 */
function listApart(
  { synced, origins: own = [], divergent = [] }: ReplicationRecord,
  { snapshot, at, origins = [] }: PeerMessages['header'],
  { there, held }: { readonly there: readonly string[]; readonly held: readonly string[] },
): readonly DivergentBytes[] {
  const isHere = (name: string) => there.includes(name);
  const counted = synced && isSyncName(synced.snapshot) ? [synced.snapshot] : [];
  // The copy that counts has all that has led to it.
  const history = synced && !isHere(synced.snapshot) ? [] : own;
  const isCovered = (name: string) =>
    isIncluded(name, [...origins, snapshot]) || (name !== synced?.snapshot && isIncluded(name, history));
  // What a former primary has set aside holds all that it has.
  const isAside = (name: string) =>
    divergent.some(
      each => each.name === name || (isHere(each.name) && each.name.startsWith(formatAsideName(readSyncName(name)))),
    );
  const apart = [...new Set([...held, ...counted])].filter(name => !isCovered(name) && !isAside(name));
  const isInAnother = (name: string) =>
    apart.some(other => other !== name && isHere(other) && isHere(name) && isIncluded(name, [other]));
  return apart
    .filter(name => !isInAnother(name))
    .map(name => ({ name, epoch: readSyncName(name).epoch, at: synced?.at ?? at }));
}

function toPeerRejection(error: Error): PeerRejection {
  if (!(error instanceof VolumeFault)) return 'failed';
  return error.why === 'no_space' || error.why === 'bad_stream' ? error.why : 'failed';
}
