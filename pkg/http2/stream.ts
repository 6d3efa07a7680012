import type { HeaderField } from './header-encoder.js';

/**
 * How a stream ended: the other side `finished` it; it is certain that it was never looked at (`refused`); or it `broke`
 * and nothing is known.
 */
export type StreamEnd =
  | { readonly outcome: 'finished' }
  | { readonly outcome: 'refused' | 'broke'; readonly cause: Error };

/** Hears what the other side sends on a stream. */
export interface StreamHandler {
  /** Headers, or the trailers behind the data. */
  onHeaders(fields: readonly HeaderField[]): void;
  onData(bytes: Buffer): void;
  /** Called once, the last of all; not called for a stream that was cancelled from here. */
  onEnd(end: StreamEnd): void;
}

/** One request on a connection. */
export interface Stream {
  /** Sends more data, as fast as the other side takes it. */
  write(bytes: Buffer): void;
  /** Ends it at once, in both directions. */
  cancel(): void;
}

/** What a connection knows of a stream. */
export class StreamState {
  readonly handler: StreamHandler;
  /** The headers that open it. */
  readonly headers: Buffer;
  /** 0 until it is sent. */
  id = 0;
  /** What is still to be sent, in order. */
  readonly unsent: Buffer[] = [];
  /** Whether nothing comes after `unsent`. */
  isWhole: boolean;
  isOver = false;
  /** Bytes that the other side takes before it must say that it takes more. */
  window = 0;
  /** Bytes that came and that we have not yet made room for. */
  received = 0;

  constructor(headers: Buffer, handler: StreamHandler, body: Buffer | undefined) {
    this.headers = headers;
    this.handler = handler;
    this.isWhole = body !== undefined;
    if (body) this.unsent.push(body);
  }
}
