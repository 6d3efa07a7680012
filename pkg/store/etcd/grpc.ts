import { Fault } from '../../fault/index.js';
import { LeaseGoneFault, StoreRefusedFault } from '../faults.js';

/** The status codes of gRPC that etcd answers with and that decide something here. */
export const grpcStatus = {
  ok: 0,
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
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

/** A read asked for a revision that is no longer kept, or not there yet. */
export class OutOfRangeFault extends Fault {
  readonly retriable = false;
}

/**
 * What a status other than OK means.
 *
 * Only those that etcd gives before it proposes a request are certain. UNAVAILABLE is not: "request timed out" is one.
 * RESOURCE_EXHAUSTED is not: when the quota is reached, etcd makes the change first and complains then.
 */
export function faultOfStatus(status: number, message: string): Fault {
  const text = `etcd: ${message} (gRPC status ${status})`;
  switch (status) {
    case grpcStatus.notFound:
      return new LeaseGoneFault({ cause: new StoreRefusedFault(text) });
    case grpcStatus.outOfRange:
      return new OutOfRangeFault(text);
    case grpcStatus.invalidArgument:
    case grpcStatus.permissionDenied:
    case grpcStatus.failedPrecondition:
    case grpcStatus.unimplemented:
    case grpcStatus.unauthenticated:
      return new StoreRefusedFault(text);
    default:
      return new AnswerLostFault(text);
  }
}

/** The one message of an answer; undefined when it is not whole. */
export function unframe(chunks: readonly Buffer[]): Buffer | undefined {
  const answer = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  if (answer.length < 5 || answer[0] !== 0 || answer.length !== 5 + answer.readUInt32BE(1)) return undefined;
  return answer.subarray(5);
}
