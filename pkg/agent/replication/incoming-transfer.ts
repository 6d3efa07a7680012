import { Readable } from 'node:stream';

import type { VolumeTerm } from '../../../crds/volume/index.js';
import { asError } from '../../fault/index.js';
import { StreamChecksum, type VolumeDriver } from '../volumes/index.js';
import type { PeerMessages } from './messages.js';
import { PeerFault } from './peers.js';
import type { PeerWire } from './wire.js';

/** So many frames may be under way between the network and the disk. */
const BUFFERED_FRAMES = 2;
/** For so long both ends keep what they need to go on with a transfer that was cut. */
export const RESUMABLE_MS = 300_000;
/** A transfer of which less has arrived starts over. */
export const RESUMABLE_BYTES = 2 ** 20;

/** Who sends which volume, and in which term. */
export interface TransferSource {
  readonly volume: string;
  readonly term: VolumeTerm;
  readonly publicKey: string;
}

/**
 * A snapshot that arrives: to the driver it is one stream, over however many connections it comes. What a connection has brought is with the
 * driver, which waits for the next one; so it is written once, and nothing of it is a snapshot before all of it is here.
 */
export class IncomingTransfer {
  readonly source: TransferSource;
  readonly #header: PeerMessages['header'];
  readonly #stream: Readable;
  readonly #sum = new StreamChecksum();
  /** Rejects when the driver refuses the stream, or it was given up. */
  readonly #stored: Promise<void>;
  #arrived = 0;
  /** What it comes over; undefined while it was cut. */
  #wire: PeerWire | undefined;
  #frames: ReturnType<PeerWire['readFrames']> | undefined;
  /** Nothing has come since it was cut: the sender may have much to read before it goes on. */
  #isWaiting = false;
  #fault: Error | undefined;
  #wake = () => undefined as void;
  #onCut = (_fault: Error) => undefined as void;

  constructor(driver: VolumeDriver, source: TransferSource, header: PeerMessages['header']) {
    this.source = source;
    this.#header = header;
    const { snapshot, parent } = header;
    let seal = (_checksum: string) => undefined as void;
    const checksum = new Promise<string>(resolve => {
      seal = resolve;
    });
    this.#stream = new Readable({
      objectMode: true,
      highWaterMark: BUFFERED_FRAMES,
      read: () => void this.#passOn(seal),
      // At once: a driver that removes the volume does not wait for a connection.
      destroy: (error, done) => {
        this.#end(error);
        done(error);
      },
    });
    this.#stream.on('error', () => undefined); // the driver reports it
    this.#stored = driver.receive(source.volume, this.#stream, {
      snapshot,
      ...(parent !== undefined && { parent }),
      checksum,
      sum: this.#sum,
      giveBack: chunk => this.#wire?.giveBack(chunk),
      isWaiting: () => this.#isWaiting,
    });
    this.#stored.catch((thrown: unknown) => this.#end(asError(thrown)));
  }

  get arrived(): number {
    return this.#arrived;
  }

  /** What the sender is answered, so that it can find out whether it sends the same again; undefined when it starts over. */
  describe(): PeerMessages['held']['begun'] {
    if (this.#fault || this.#arrived < RESUMABLE_BYTES) return undefined;
    const { snapshot, at, parent } = this.#header;
    return {
      snapshot,
      at,
      ...(parent !== undefined && { parent }),
      arrived: this.#arrived,
      checksum: this.#sum.toHex(),
    };
  }

  /** Whether what is announced goes on from here. */
  isContinuedBy({ snapshot, at, parent, from }: PeerMessages['header']): boolean {
    const own = this.#header;
    const isSame = snapshot === own.snapshot && at === own.at && parent === own.parent;
    return isSame && from === this.#arrived && this.describe() !== undefined;
  }

  /** Takes what comes over a connection until all is stored, or answers how the connection has failed. */
  async takeFrom(wire: PeerWire): Promise<Error | undefined> {
    const cut = new Promise<Error>(resolve => {
      this.#onCut = resolve;
    });
    this.#wire = wire;
    this.#frames = wire.readFrames();
    this.#wake();
    return Promise.race([this.#stored.then(() => undefined), cut]);
  }

  /** No sender goes on with it: the driver removes what has arrived. */
  async giveUp(): Promise<void> {
    this.#stream.destroy(createGivenUpFault());
    await this.#stored.catch(() => undefined);
  }

  /** Nothing more is taken. */
  #end(error: Error | null): void {
    this.#fault ??= error ?? createGivenUpFault();
    this.#wake();
  }

  /** Passes the next frame on, over whichever connection it comes. */
  async #passOn(seal: (checksum: string) => void): Promise<void> {
    while (!this.#fault) {
      const next = await this.#frames?.next().catch(asError);
      if (next instanceof Error) {
        this.#wire = this.#frames = undefined;
        this.#isWaiting = true;
        this.#onCut(next);
      } else if (next) {
        this.#isWaiting = false;
        if (next.done) seal(next.value);
        else this.#note(next.value);
        return void this.#stream.push(next.done ? null : next.value);
      }
      if (!this.#frames && !this.#fault) await this.#untilWoken();
    }
  }

  #note(frame: Buffer): void {
    this.#arrived += frame.length;
    this.#sum.add(frame);
  }

  #untilWoken(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }
}

function createGivenUpFault(): PeerFault {
  return new PeerFault('the transfer was cut, and the other node does not go on with it; it is sent again');
}
