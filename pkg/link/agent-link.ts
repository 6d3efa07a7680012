import { Fault } from '../fault/index.js';
import type { Secret } from '../secrets/index.js';
import type {
  AssignmentLine,
  EnrolReply,
  EnrolRequest,
  EnvironmentRequest,
  Heartbeat,
  HeartbeatReply,
  LogLine,
  LogRequest,
  RenewRequest,
  ReportBatch,
} from './messages.js';

/**
 * The agent's end of the link.
 *
 * Every method throws `LinkUnreachableFault` when the control plane does not respond and `LinkRefusedFault` when it
 * refuses the request. All methods but `environment` are idempotent.
 */
export interface AgentLink {
  /** Sets the node token of every later call. */
  present(token: string): void;
  enrol(request: EnrolRequest, joinToken: string): Promise<EnrolReply>;
  /** A fresh token for the holder of the node's key; needs no valid token. */
  renew(request: RenewRequest): Promise<EnrolReply>;
  heartbeat(beat: Heartbeat): Promise<HeartbeatReply>;
  /** Receives the assignment stream in order. Resolves when `signal` is aborted; throws when the stream breaks. */
  assignments(onLine: (line: AssignmentLine) => void, signal: AbortSignal): Promise<void>;
  /** The secret variables of one container that is about to be created. Works once per ticket. */
  environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>>;
  report(batch: ReportBatch): Promise<void>;
  /** Sends container output to the server that requested it, until it ends or `signal` is aborted. */
  sendLogs(request: LogRequest, lines: AsyncIterable<LogLine>, signal: AbortSignal): Promise<void>;
  /** Tells the server that the agent has no free log stream, so that the request fails at once. */
  declineLogs(request: LogRequest): Promise<void>;
  close(): Promise<void>;
}

/** The control plane is unreachable, or the connection broke before it responded. */
export class LinkUnreachableFault extends Fault {
  readonly retriable = true;
}

/** The control plane refused the request. */
export class LinkRefusedFault extends Fault {
  readonly status: number;
  /** The code of the rejection, when the response carried one. */
  readonly code: string;

  constructor(status: number, code: string) {
    super(`the control plane answered ${status} ${code}`);
    this.status = status;
    this.code = code;
  }

  /** The same request may succeed later only when the server was overloaded or failing. */
  get retriable(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}
