import type { Socket } from 'node:net';

import { FRAME_SIZE, frameFlag, frameHeader, frameType } from './frame.js';
import { Http2Fault } from './http2-fault.js';
import type { StreamState } from './stream.js';

/** What each side takes before anybody has said otherwise. */
export const DEFAULT_WINDOW = 65_535;
const LARGEST_WINDOW = 2 ** 31 - 1;

/** Pieces that together are shorter are sent as one. */
const COPIED_UP_TO = 16 << 10;

/** Sends frames, and of what streams have to say no more than the other side takes. */
export class Sender {
  readonly #socket: Socket;
  /** Streams with something to send that the other side does not take yet. */
  readonly #held = new Set<StreamState>();
  #window = DEFAULT_WINDOW;
  /** What the other side takes in one frame. */
  frameSize = FRAME_SIZE;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Hands whole frames to the kernel now, in one piece where that is cheap. */
  send(...pieces: readonly Buffer[]): void {
    if (!this.#socket.writable || pieces.length === 0) return;
    let length = 0;
    for (const piece of pieces) length += piece.length;
    if (length <= COPIED_UP_TO) {
      this.#socket.write(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length));
      return;
    }
    this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    this.#socket.uncork();
  }

  /** Frames with as much of what the stream has to say as may be sent now. The rest follows by itself. */
  dataOf(stream: StreamState): readonly Buffer[] {
    const pieces: Buffer[] = [];
    for (let bytes = stream.unsent[0]; bytes; bytes = stream.unsent[0]) {
      const length = Math.max(0, Math.min(bytes.length, this.frameSize, this.#window, stream.window));
      if (length === 0 && bytes.length > 0) {
        this.#held.add(stream);
        return pieces;
      }
      if (length === bytes.length) stream.unsent.shift();
      else stream.unsent[0] = bytes.subarray(length);
      this.#window -= length;
      stream.window -= length;
      const flags = stream.isWhole && stream.unsent.length === 0 ? frameFlag.endStream : 0;
      pieces.push(frameHeader(length, { type: frameType.data, flags, stream: stream.id }), bytes.subarray(0, length));
    }
    this.#held.delete(stream);
    return pieces;
  }

  /** The other side takes more: on one stream, or on all of them together. */
  widen(stream: StreamState | undefined, more: number): void {
    if (stream) stream.window += more;
    else this.#window += more;
    if ((stream ? stream.window : this.#window) > LARGEST_WINDOW) throw new Http2Fault('a window is too large');
  }

  /** Sends what had to wait. */
  resume(): void {
    for (const stream of this.#held) this.send(...this.dataOf(stream));
  }

  /** Nothing more of this stream is to be sent. */
  forget(stream: StreamState): void {
    this.#held.delete(stream);
  }
}
