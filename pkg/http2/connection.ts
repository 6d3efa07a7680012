import type { Socket } from 'node:net';

import { asError } from '../fault/index.js';
import type { ConnectionHandler, Windows } from './connection-handler.js';
import {
  errorCode,
  FRAME_SIZE,
  type Frame,
  frameFlag,
  frameHeader,
  FrameReader,
  frameType,
  isImpossible,
  numberIn,
  numbersFrame,
  setting,
  settingsFrame,
  settingsIn,
  unpadded,
  windowUpdate,
} from './frame.js';
import { HeaderBlocks } from './header-blocks.js';
import { Http2Fault } from './http2-fault.js';
import { DEFAULT_WINDOW, Sender } from './sender.js';
import { type Stream, type StreamHandler, type StreamEnd, StreamState } from './stream.js';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Numbers of streams and sizes of windows have 31 bits; the one in front of them means nothing. */
const LARGEST = 2 ** 31 - 1;

/** So much may wait for the other side to read: far more than all requests under way. */
const MOST_UNREAD = 32 << 20;

/** The client's end of a connection. */
export class Http2Connection {
  readonly #socket: Socket;
  readonly #handler: ConnectionHandler;
  readonly #windows: Windows;
  readonly #sender: Sender;
  readonly #frames = new FrameReader();
  readonly #headers = new HeaderBlocks();
  readonly #streams = new Map<number, StreamState>();
  /** Streams for which the other side has no room yet. */
  readonly #queued = new Set<StreamState>();
  readonly #pings: (() => void)[] = [];
  #nextId = 1;
  /** How many streams the other side has room for. */
  #room = Infinity;
  /** What the other side takes on a new stream before it must say that it takes more. */
  #streamWindow = DEFAULT_WINDOW;
  /** Bytes that came and that we have not yet made room for. */
  #received = 0;
  #isReady = false;
  #isRetired = false;
  #cause: Error | undefined;

  /** Speaks at once, on a socket that is connected or connecting. */
  constructor(socket: Socket, windows: Windows, handler: ConnectionHandler) {
    this.#socket = socket;
    this.#windows = windows;
    this.#handler = handler;
    this.#sender = new Sender(socket);
    socket.on('data', (chunk: Buffer) => this.#heard(chunk));
    socket.on('error', (error: Error) => {
      this.#cause ??= error; // its close follows
    });
    socket.once('close', () => this.#closed());
    const settings = settingsFrame([
      [setting.enablePush, 0],
      [setting.initialWindowSize, windows.stream],
    ]);
    this.#sender.send(PREFACE, settings, windowUpdate(0, windows.connection - DEFAULT_WINDOW));
  }

  /** Whether a new request may be made. */
  get usable(): boolean {
    return !this.#isRetired && !this.#socket.destroyed && this.#nextId <= LARGEST;
  }

  /**
   * Sends a request. With a `body` it is whole, and the other side hears its end; without one, more may be written.
   * The answer is heard later, never during this call.
   */
  request(headers: Buffer, handler: StreamHandler, body?: Buffer): Stream {
    if (!this.usable) throw new Http2Fault('the connection has ended', { cause: this.#cause });
    if (headers.length > FRAME_SIZE) throw new Http2Fault('the headers do not fit into one frame');
    const stream = new StreamState(headers, handler, body);
    this.#queued.add(stream);
    this.#openQueued();
    return {
      write: bytes => {
        if (stream.isOver || stream.isWhole) return;
        stream.unsent.push(bytes);
        if (stream.id !== 0) this.#sender.send(...this.#sender.dataOf(stream));
      },
      cancel: () => this.#cancel(stream),
    };
  }

  /** Asks the other side for a sign of life. */
  ping(answered: () => void): void {
    this.#pings.push(answered);
    this.#sender.send(numbersFrame({ type: frameType.ping, flags: 0, stream: 0 }, 0, 0));
  }

  /** Lets the requests under way finish, and takes no more. */
  retire(): void {
    this.#isRetired = true;
    this.#endWhenIdle();
  }

  /** Ends everything now. */
  destroy(cause?: Error): void {
    this.#cause ??= cause;
    this.#isRetired = true;
    this.#socket.destroy();
    this.#breakStreams();
  }

  #openQueued(): void {
    for (const stream of this.#queued) {
      if (this.#streams.size >= this.#room) return;
      this.#queued.delete(stream);
      stream.id = this.#nextId;
      this.#nextId += 2;
      stream.window = this.#streamWindow;
      this.#streams.set(stream.id, stream);
      const header = { type: frameType.headers, flags: frameFlag.endHeaders, stream: stream.id };
      const opening = frameHeader(stream.headers.length, header);
      this.#sender.send(opening, stream.headers, ...this.#sender.dataOf(stream));
    }
  }

  #heard(chunk: Buffer): void {
    try {
      this.#frames.take(chunk, frame => this.#take(frame));
    } catch (thrown) {
      this.destroy(asError(thrown));
      if (!(thrown instanceof Http2Fault)) throw thrown;
    }
    if (this.#socket.writableLength > MOST_UNREAD) this.destroy(new Http2Fault('the other side does not read'));
  }

  #take(frame: Frame): void {
    const block = this.#headers.take(frame);
    switch (frame.type) {
      case frameType.data:
        return this.#takeData(frame);
      case frameType.headers:
      case frameType.continuation: {
        const stream = block && this.#streams.get(block.stream);
        stream?.handler.onHeaders(block!.fields);
        return stream && block!.isLast && !stream.isOver ? this.#finish(stream) : undefined;
      }
      case frameType.rstStream:
        return this.#takeReset(frame.stream, numberIn(frame));
      case frameType.settings:
        return this.#takeSettings(frame);
      case frameType.ping:
        return this.#takePing(frame);
      case frameType.goAway:
        return this.#takeGoAway(numberIn(frame) & LARGEST, numberIn(frame, 4));
      case frameType.windowUpdate:
        return this.#takeWindow(frame.stream, numberIn(frame) & LARGEST);
      case frameType.pushPromise:
        throw new Http2Fault('something was pushed that nobody asked for');
      default:
        return undefined; // what is not known is to be passed over
    }
  }

  #takeData(frame: Frame): void {
    const bytes = unpadded(frame);
    this.#received = this.#makeRoom(0, this.#received + frame.payload.length, this.#windows.connection);
    const stream = this.#streams.get(frame.stream);
    if (!stream) return; // it was cancelled, and this was under way
    stream.handler.onData(bytes);
    if (stream.isOver) return;
    if (frame.flags & frameFlag.endStream) this.#finish(stream);
    else stream.received = this.#makeRoom(stream.id, stream.received + frame.payload.length, this.#windows.stream);
  }

  /** Allows the other side to send as much as came, once that is half of what it may send. */
  #makeRoom(stream: number, received: number, window: number): number {
    if (received < window / 2) return received;
    this.#sender.send(windowUpdate(stream, received));
    return 0;
  }

  #takeReset(id: number, code: number): void {
    const stream = this.#streams.get(id);
    if (!stream) return;
    const cause = new Http2Fault(`the other side ended the stream with code ${code}`);
    this.#over(stream, { outcome: code === errorCode.refusedStream ? 'refused' : 'broke', cause });
  }

  #takeSettings({ flags, payload }: Frame): void {
    if (flags & frameFlag.ack) return;
    for (const [id, value] of settingsIn(payload)) {
      if (isImpossible(id, value)) throw new Http2Fault(`setting ${id} cannot be ${value}`);
      if (id === setting.maxConcurrentStreams) this.#room = value;
      if (id === setting.maxFrameSize) this.#sender.frameSize = value;
      if (id === setting.initialWindowSize) {
        for (const stream of this.#streams.values()) this.#sender.widen(stream, value - this.#streamWindow);
        this.#streamWindow = value;
      }
    }
    this.#sender.send(frameHeader(0, { type: frameType.settings, flags: frameFlag.ack, stream: 0 }));
    if (!this.#isReady) this.#handler.onReady();
    this.#isReady = true;
    this.#sender.resume();
    this.#openQueued();
  }

  #takePing({ flags, payload }: Frame): void {
    if (flags & frameFlag.ack) this.#pings.shift()?.();
    else {
      const answer = { type: frameType.ping, flags: frameFlag.ack, stream: 0 };
      this.#sender.send(frameHeader(payload.length, answer), payload);
    }
  }

  /** Streams above `lastTaken` were never looked at. */
  #takeGoAway(lastTaken: number, code: number): void {
    this.#isRetired = true;
    const cause = new Http2Fault(`the other side takes no more requests (code ${code})`);
    this.#cause ??= cause;
    const end: StreamEnd = { outcome: 'refused', cause };
    this.#dropQueued(end);
    for (const stream of this.#streams.values()) if (stream.id > lastTaken) this.#over(stream, end);
    this.#endWhenIdle();
  }

  #takeWindow(id: number, more: number): void {
    const stream = this.#streams.get(id);
    if (id !== 0 && !stream) return;
    this.#sender.widen(stream, more);
    this.#sender.resume();
  }

  #finish(stream: StreamState): void {
    // An answer that came before all was said: the rest is of no interest.
    if (!stream.isWhole || stream.unsent.length > 0) this.#reset(stream);
    this.#over(stream, { outcome: 'finished' });
  }

  #cancel(stream: StreamState): void {
    if (stream.isOver) return;
    if (stream.id !== 0) this.#reset(stream);
    this.#leave(stream);
  }

  #reset({ id }: StreamState): void {
    this.#sender.send(numbersFrame({ type: frameType.rstStream, flags: 0, stream: id }, errorCode.cancel));
  }

  #over(stream: StreamState, end: StreamEnd): void {
    if (stream.isOver) return;
    this.#leave(stream);
    stream.handler.onEnd(end);
  }

  #leave(stream: StreamState): void {
    stream.isOver = true;
    this.#sender.forget(stream);
    this.#streams.delete(stream.id);
    this.#queued.delete(stream);
    this.#openQueued();
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    if (this.#isRetired && this.#streams.size + this.#queued.size === 0) this.#socket.destroySoon();
  }

  #closed(): void {
    this.#isRetired = true;
    this.#breakStreams();
    this.#handler.onClose(this.#cause);
  }

  #breakStreams(): void {
    const cause = new Http2Fault('the connection broke', { cause: this.#cause });
    this.#dropQueued({ outcome: 'refused', cause });
    for (const stream of this.#streams.values()) this.#over(stream, { outcome: 'broke', cause });
  }

  #dropQueued(end: StreamEnd): void {
    const queued = [...this.#queued];
    this.#queued.clear();
    for (const stream of queued) this.#over(stream, end);
  }
}
