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
 * Every method throws `LinkUnreachableFault` when the control plane cannot be asked and `LinkRefusedFault` when it said
 * no. All but `environment` may be repeated.
 */
export interface AgentLink {
  /** Every later call is made with this node token. */
  present(token: string): void;
  enrol(request: EnrolRequest, joinToken: string): Promise<EnrolReply>;
  /** A fresh token for the holder of the node's key; needs no valid token. */
  renew(request: RenewRequest): Promise<EnrolReply>;
  heartbeat(beat: Heartbeat): Promise<HeartbeatReply>;
  /** Hands over every line of the stream, in order. Resolves when `signal` is aborted; throws when the stream breaks. */
  assignments(onLine: (line: AssignmentLine) => void, signal: AbortSignal): Promise<void>;
  /** The variables that come from secrets, for one container that is about to be made. Works once for each ticket. */
  environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>>;
  report(batch: ReportBatch): Promise<void>;
  /** Sends the stream to the server that asked for it, until it ends or `signal` is aborted. */
  sendLogs(request: LogRequest, lines: AsyncIterable<LogLine>, signal: AbortSignal): Promise<void>;
  /** Says that the agent carries as many streams as it can, so that nobody waits for this one. */
  declineLogs(request: LogRequest): Promise<void>;
  close(): Promise<void>;
}

/** The control plane could not be reached, or the connection broke before it had answered. */
export class LinkUnreachableFault extends Fault {
  readonly retriable = true;
}

/** The control plane answered, and the answer was no. */
export class LinkRefusedFault extends Fault {
  readonly status: number;
  /** The code of the rejection, where the answer was one. */
  readonly code: string;

  constructor(status: number, code: string) {
    super(`the control plane answered ${status} ${code}`);
    this.status = status;
    this.code = code;
  }

  /** The same request may succeed later only when the server was busy or broken. */
  get retriable(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}
