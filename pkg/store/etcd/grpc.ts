import { Fault } from '../../fault/index.js';
import {
  LeaseGoneFault,
  StoreForbiddenFault,
  StoreRefusedFault,
  StoreTooLargeFault,
  StoreUnavailableFault,
} from '../faults.js';

/** The status codes of gRPC that etcd answers with and that decide something here. */
export const grpcStatus = {
  ok: 0,
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  unauthenticated: 16,
} as const;

/**
 * The request was sent, and what became of it is not known: the answer was lost, came too late, or says something that
 * etcd also says of requests it has carried out.
 */
export class AnswerLostFault extends Fault {
  readonly retriable = true;
}

/**
 * etcd answered that a quota or a limit is reached. It may have carried the request out before it noticed, but it will not
 * do so any more.
 */
export class ExhaustedFault extends AnswerLostFault {}

/** etcd has not looked at the request, and says so: it may be sent again, whatever it asks for. */
export class RequestNotTakenFault extends StoreUnavailableFault {}

/** A read asked for a revision that is no longer kept, or not there yet. */
export class OutOfRangeFault extends Fault {
  readonly retriable = false;
}

/** What gRPC says of a message that it did not read. */
const UNREAD = /message larger than max/;

/**
 * What a status other than OK means.
 *
 * Only those that etcd gives before it proposes a request are certain. UNAVAILABLE is not: "request timed out" is one.
 * RESOURCE_EXHAUSTED is not: when the quota is reached, etcd makes the change first and complains then. But the same status
 * comes from gRPC itself for a message that it did not read, because it is larger than etcd's limit.
 */
export function toFault(status: number, message: string): Fault {
  const text = `etcd: ${message} (gRPC status ${status})`;
  switch (status) {
    case grpcStatus.notFound:
      return new LeaseGoneFault({ cause: new StoreRefusedFault(text) });
    case grpcStatus.outOfRange:
      return new OutOfRangeFault(text);
    case grpcStatus.resourceExhausted:
      return UNREAD.test(message) ? new StoreTooLargeFault(text) : new ExhaustedFault(text);
    case grpcStatus.permissionDenied:
    case grpcStatus.unauthenticated:
      return new StoreForbiddenFault(text);
    case grpcStatus.invalidArgument:
      return message.includes('request is too large') ? new StoreTooLargeFault(text) : new StoreRefusedFault(text);
    case grpcStatus.failedPrecondition:
    case grpcStatus.unimplemented:
      return new StoreRefusedFault(text);
    default:
      return new AnswerLostFault(text);
  }
}

/** Before each message: one byte "not compressed", four bytes of length. */
const FRAME_HEADER = 5;

/** The one message of an answer; undefined when it is not whole. */
export function unframe(chunks: readonly Buffer[]): Buffer | undefined {
  const answer = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  if (answer.length < FRAME_HEADER || answer[0] !== 0 || answer.length !== frameLength(answer, 0)) return undefined;
  return answer.subarray(FRAME_HEADER);
}

/** Takes the messages out of a stream, wherever its chunks begin and end. */
export class Unframer {
  #held: Buffer[] = [];
  #length = 0;
  /** No message is whole before this many bytes are held. */
  #wanted = FRAME_HEADER;

  /** The messages that this chunk makes whole. Throws a `RangeError` for what is no message of etcd. */
  take(chunk: Buffer): readonly Buffer[] {
    this.#held.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#wanted) return [];

    const bytes = this.#held.length === 1 ? chunk : Buffer.concat(this.#held, this.#length);
    const messages: Buffer[] = [];
    let at = 0;
    this.#wanted = FRAME_HEADER;
    while (bytes.length - at >= FRAME_HEADER) {
      if (bytes[at] !== 0) throw new RangeError('etcd does not compress what it sends');
      const end = at + frameLength(bytes, at);
      this.#wanted = end - at;
      if (end > bytes.length) break;
      messages.push(bytes.subarray(at + FRAME_HEADER, end));
      at = end;
      this.#wanted = FRAME_HEADER;
    }
    this.#length = bytes.length - at;
    this.#held = this.#length === 0 ? [] : [bytes.subarray(at)];
    return messages;
  }
}

function frameLength(bytes: Buffer, at: number): number {
  return FRAME_HEADER + bytes.readUInt32BE(at + 1);
}
