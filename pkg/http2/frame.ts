import { Http2Fault } from './http2-fault.js';

/** The kinds of frames (RFC 9113, section 6) that are sent or understood here. */
export const frameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const frameFlag = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const errorCode = { refusedStream: 7, cancel: 8 } as const;

export const setting = { enablePush: 2, maxConcurrentStreams: 3, initialWindowSize: 4, maxFrameSize: 5 } as const;

export const FRAME_HEADER = 9;

/** What a frame may hold as long as nobody has offered more, which we never do. */
export const FRAME_SIZE = 16_384;

/** A frame that has arrived. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  /** 0 is the connection itself. */
  readonly stream: number;
  readonly payload: Buffer;
}

/** The header of a frame, to be followed by `length` bytes. */
export function frameHeader(length: number, frame: Omit<Frame, 'payload'>): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER);
  header.writeUIntBE(length, 0, 3);
  header[3] = frame.type;
  header[4] = frame.flags;
  header.writeUInt32BE(frame.stream, 5);
  return header;
}

/** A whole frame whose payload is numbers of four bytes. */
export function numbersFrame(frame: Omit<Frame, 'payload'>, ...numbers: readonly number[]): Buffer {
  const payload = Buffer.allocUnsafe(numbers.length * 4);
  numbers.forEach((n, index) => payload.writeUInt32BE(n, index * 4));
  return Buffer.concat([frameHeader(payload.length, frame), payload]);
}

/** A whole frame that allows the other side to send more; on stream 0, on all of them together. */
export function windowUpdate(stream: number, more: number): Buffer {
  return numbersFrame({ type: frameType.windowUpdate, flags: 0, stream }, more);
}

/** A number of four bytes in the payload. */
export function numberIn({ payload }: Frame, at = 0): number {
  if (payload.length < at + 4) throw new Http2Fault('a frame is cut off');
  return payload.readUInt32BE(at);
}

/** A whole frame with our settings. */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(settings.length * 6);
  settings.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * 6);
    payload.writeUInt32BE(value, index * 6 + 2);
  });
  return Buffer.concat([frameHeader(payload.length, { type: frameType.settings, flags: 0, stream: 0 }), payload]);
}

/** The settings in the payload of such a frame. */
export function settingsIn(payload: Buffer): readonly (readonly [id: number, value: number])[] {
  if (payload.length % 6 !== 0) throw new Http2Fault('settings are cut off');
  return Array.from({ length: payload.length / 6 }, (_, index) => [
    payload.readUInt16BE(index * 6),
    payload.readUInt32BE(index * 6 + 2),
  ]);
}

/** Whether a setting has a value that it cannot have (RFC 9113, section 6.5.2). */
export function isImpossible(id: number, value: number): boolean {
  if (id === setting.initialWindowSize) return value > 2 ** 31 - 1;
  return id === setting.maxFrameSize && (value < FRAME_SIZE || value > 2 ** 24 - 1);
}

/** What is left of a payload without padding and priority. */
export function unpadded({ flags, payload, type }: Frame): Buffer {
  let from = 0;
  let padding = 0;
  if (flags & frameFlag.padded) padding = payload[from++] ?? 0;
  if (type === frameType.headers && flags & frameFlag.priority) from += 5;
  if (from + padding > payload.length) throw new Http2Fault('a frame is padded with more than it holds');
  return from + padding === 0 ? payload : payload.subarray(from, payload.length - padding);
}

/** Takes the frames out of what a socket reads, wherever its chunks begin and end. */
export class FrameReader {
  #held: Buffer | undefined;

  /** Hands on the frames that this chunk makes whole. */
  take(chunk: Buffer, hand: (frame: Frame) => void): void {
    const bytes = this.#held ? Buffer.concat([this.#held, chunk]) : chunk;
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER) {
      const length = bytes.readUIntBE(at, 3);
      if (length > FRAME_SIZE) throw new Http2Fault('a frame is larger than we offered');
      const end = at + FRAME_HEADER + length;
      if (end > bytes.length) break;
      hand({
        type: bytes[at + 3]!,
        flags: bytes[at + 4]!,
        stream: bytes.readUInt32BE(at + 5) & 0x7fff_ffff,
        payload: bytes.subarray(at + FRAME_HEADER, end),
      });
      at = end;
    }
    this.#held = at === bytes.length ? undefined : bytes.subarray(at);
  }
}
