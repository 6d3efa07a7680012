import type { EnvironmentRequest } from '../../crds/delivery/index.js';
import type { AdvertisedCondition, Capacity } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { ReportBatch } from '../../crds/report/index.js';
import { Fault } from '../fault/index.js';
import type { RegistryRules } from '../registry/index.js';
import type { Secret } from '../secrets/index.js';
import type { NodeCredentials } from './request-proof.js';

export type { EnvironmentRequest, ReportBatch };

/**
 * The agent's end of the link.
 *
 * Every method throws `LinkUnreachableFault` when the control plane does not respond and `LinkRefusedFault` when it
 * refuses the request. All methods but `environment` are idempotent.
 */
export interface AgentLink {
  /** What every request from now on is authenticated with. */
  present(credentials: NodeCredentials): void;
  enrol(request: EnrolRequest, joinToken: string): Promise<EnrolReply>;
  /** A fresh token for the holder of the node's key; needs no valid token. */
  renew(request: RenewRequest): Promise<EnrolReply>;
  heartbeat(beat: Heartbeat): Promise<HeartbeatReply>;
  /** Receives the assignment stream in order. Resolves when `signal` is aborted; throws when the stream breaks. */
  assignments(onLine: (line: AssignmentLine) => void, signal: AbortSignal): Promise<void>;
  /** The secret variables of one container that is about to be created. Works once per ticket. */
  environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>>;
  report(batch: ReportBatch): Promise<void>;
  /** Which of these node ids the tenant of this node no longer has, so that nobody else removes their containers. */
  findGoneNodes(ids: readonly string[]): Promise<readonly string[]>;
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

export class LinkRefusedFault extends Fault {
  readonly status: number;
  /** The code of the rejection, when the response carried one. */
  readonly code: string;
  /** The server's wall time in milliseconds, when it refused the agent's. */
  readonly serverTime: number | undefined;

  constructor(status: number, code: string, serverTime?: number) {
    super(`the control plane answered ${status} ${code}`);
    this.status = status;
    this.code = code;
    this.serverTime = serverTime;
  }

  /** The same request may succeed later only when the server was overloaded or failing. */
  get retriable(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

/** `POST /api/v1/nodes`, with the join token as bearer. */
export interface EnrolRequest {
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  /** Ed25519 public key, SPKI DER in base64. */
  readonly publicKey: string;
  readonly agentVersion: string;
  readonly controlPlane?: boolean;
  /** Signature by that key over `formatEnrolmentText(nodeName, publicKey)`, base64: proof of possession. */
  readonly proof: string;
}

export interface EnrolReply {
  readonly node: { readonly id: string; readonly name: string; readonly tenant: string };
  /** A node token, valid 24 hours. */
  readonly token: string;
  readonly expiresAt: string;
}

/** `POST /agent/v1/heartbeat`: what the agent's configuration says now, and what it found on its machine. */
export interface Heartbeat {
  readonly conditions?: readonly AdvertisedCondition[];
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  readonly agentVersion: string;
  readonly controlPlane?: boolean;
  /** How long ago the agent last listed its containers; left out by older agents. */
  readonly containersSeenMsAgo?: number;
}

export interface HeartbeatReply {
  /** How long the control plane waits for the next heartbeat before it marks the node failed. */
  readonly failedAfterMs: number;
}

/** `POST /agent/v1/token`: a fresh node token for the holder of the node's key. */
export interface RenewRequest {
  readonly nodeId: string;
  /** Wall time in milliseconds; accepted within two minutes of the server's. */
  readonly at: number;
  /** Signature over `formatRenewalText(nodeId, at)`, base64. */
  readonly proof: string;
}

/**
 * One line of `GET /agent/v1/assignments`. A snapshot replaces everything; it comes first.
 *
 * Replicas with secrets and no reported container come with one ticket each, by uid. Replicas with unresolved secrets are
 * sent only when they retire.
 */
export type AssignmentLine =
  | {
      readonly type: 'snapshot';
      readonly replicas: readonly Replica[];
      readonly tickets?: Readonly<Record<string, string>>;
      /** Risen when the store was restored from a backup: an older generation of a slot than one seen before is then right. */
      readonly restoreEpoch?: number;
      readonly policy?: NodePolicy;
    }
  | { readonly type: 'set'; readonly replica: Replica; readonly ticket?: string }
  | { readonly type: 'drop'; readonly uid: string }
  | { readonly type: 'logs'; readonly request: LogRequest }
  | { readonly type: 'ping' };

/** The settings of the platform that agents carry out. */
export interface NodePolicy {
  /** Which registries images may come from. */
  readonly registries?: RegistryRules;
}

/** The response to `POST /agent/v1/environment`: the secret variables. Never logged, never stored. */
export interface EnvironmentReply {
  readonly environment: Readonly<Record<string, string>>;
}

/** Stored at `log-requests/<tenant>/<nodeId>/<id>` on a short lease by the API server that wants the stream. */
export interface LogRequest {
  readonly id: string;
  readonly replica: string;
  readonly follow: boolean;
  readonly tail: number;
  /** Where the agent posts the stream: the address of the server that waits for it. */
  readonly server: string;
}

/** One line of the body of `POST <server>/agent/v1/logs/<id>`: text of the container, verbatim, line breaks included. */
export interface LogLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** An assignment stream that has been silent for this long is broken: the server sends a ping every 5 s. */
export const SILENCE_LIMIT_MS = 20_000;

/** The text that the holder of a node's key signs to enrol. */
export const formatEnrolmentText = (nodeName: string, publicKey: string): string =>
  `mooring-enrol\n${nodeName}\n${publicKey}`;

/** The text that the holder of a node's key signs to renew its token. */
export const formatRenewalText = (nodeId: string, at: number): string => `mooring-renew\n${nodeId}\n${at}`;

export interface NodeIdentity {
  readonly tenant: string;
  readonly id: string;
  readonly name: string;
}
