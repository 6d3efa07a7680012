import { FRAME_HEADER, type Frame, frameFlag, frameType, unpadded } from './frame.js';
import { HeaderDecoder } from './header-decoder.js';
import type { HeaderField } from './header-encoder.js';
import { Http2Fault } from './http2-fault.js';

/** Headers of an answer that are longer, with the frames they come in, are an attack or an error. */
const LONGEST = 64 << 10;

interface Begun {
  readonly stream: number;
  readonly isLast: boolean;
  readonly pieces: Buffer[];
  length: number;
}

/** All headers of one stream that came together. */
export interface HeaderBlock {
  readonly stream: number;
  readonly fields: readonly HeaderField[];
  /** Whether nothing follows them. */
  readonly isLast: boolean;
}

/** Puts headers together that came in several frames. */
export class HeaderBlocks {
  readonly #decoder = new HeaderDecoder();
  #begun: Begun | undefined;

  /** What this frame makes whole. Every frame is shown to it: none may come between two pieces of one block. */
  take(frame: Frame): HeaderBlock | undefined {
    const { type, stream, flags } = frame;
    const goesOn = type === frameType.continuation;
    if (goesOn !== (this.#begun !== undefined)) throw new Http2Fault('headers are interrupted');
    if (!goesOn && type !== frameType.headers) return undefined;

    const begun = this.#begun ?? { stream, isLast: (flags & frameFlag.endStream) !== 0, pieces: [], length: 0 };
    begun.pieces.push(goesOn ? frame.payload : unpadded(frame));
    begun.length += FRAME_HEADER + frame.payload.length;
    this.#begun = flags & frameFlag.endHeaders ? undefined : begun;
    if (begun.stream !== stream || begun.length > LONGEST) throw new Http2Fault('headers never end');
    if (this.#begun) return undefined;
    const block = begun.pieces.length === 1 ? begun.pieces[0]! : Buffer.concat(begun.pieces);
    return { stream, isLast: begun.isLast, fields: this.#decoder.decode(block) };
  }
}
