import type { EnvironmentRequest } from '../../crds/delivery/index.js';
import type { Capacity } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';

/** `POST /api/v1/nodes`, with the join token as bearer. */
export interface EnrolRequest {
  readonly nodeName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  /** Ed25519 public key, SPKI DER in base64. */
  readonly publicKey: string;
  readonly agentVersion: string;
  readonly controlPlane?: boolean;
  /** Signature by that key over `enrolmentText(nodeName, publicKey)`, base64: proof of possession. */
  readonly proof: string;
}

export interface EnrolReply {
  readonly node: { readonly id: string; readonly name: string; readonly tenant: string };
  /** A node token, valid 24 hours. */
  readonly token: string;
  readonly expiresAt: string;
}

/** `POST /agent/v1/heartbeat`. Everything in it is what the agent's own configuration says now. */
export interface Heartbeat {
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Capacity;
  readonly agentVersion: string;
  readonly controlPlane?: boolean;
}

export interface HeartbeatReply {
  /** How long the control plane will wait for the next one before it calls the node failed. */
  readonly failedAfterMs: number;
}

/** `POST /agent/v1/token`: a fresh node token for the holder of the node's key. */
export interface RenewRequest {
  readonly nodeId: string;
  /** Wall time in milliseconds; accepted within two minutes of the server's. */
  readonly at: number;
  /** Signature over `renewalText(nodeId, at)`, base64. */
  readonly proof: string;
}

/**
 * One line of `GET /agent/v1/assignments`. A snapshot replaces everything; it comes first.
 *
 * Tickets come for replicas with secrets of which no container is reported: one each, by uid. Only replicas whose secrets
 * are resolved are told at all, unless they retire.
 */
export type AssignmentLine =
  | {
      readonly type: 'snapshot';
      readonly replicas: readonly Replica[];
      readonly tickets?: Readonly<Record<string, string>>;
    }
  | { readonly type: 'set'; readonly replica: Replica; readonly ticket?: string }
  | { readonly type: 'drop'; readonly uid: string }
  | { readonly type: 'logs'; readonly request: LogRequest }
  | { readonly type: 'ping' };

/** The answer to `POST /agent/v1/environment`: the variables that come from secrets. Never logged, never kept. */
export interface EnvironmentReply {
  readonly environment: Readonly<Record<string, string>>;
}

/** Left at `log-requests/<tenant>/<nodeId>/<id>` on a short lease by the API server that wants the stream. */
export interface LogRequest {
  readonly id: string;
  readonly replica: string;
  readonly follow: boolean;
  readonly tail: number;
  /** Where the agent posts the stream: the address of the very server that waits for it. */
  readonly server: string;
}

export type { EnvironmentRequest };
export type { ReportBatch } from '../../crds/report/index.js';

/** One line of the body of `POST <server>/agent/v1/logs/<id>`: text of the container, verbatim, line breaks included. */
export interface LogLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** A stream of assignments that has been silent for this long is broken: the server sends a ping every 5 s. */
export const SILENCE_LIMIT_MS = 20_000;

/** What the holder of a node's key signs to enrol. */
export const formatEnrolmentText = (nodeName: string, publicKey: string): string =>
  `mooring-enrol\n${nodeName}\n${publicKey}`;

/** What the holder of a node's key signs to renew its token. */
export const formatRenewalText = (nodeId: string, at: number): string => `mooring-renew\n${nodeId}\n${at}`;

/** The node that a token speaks for. */
export interface NodeIdentity {
  readonly tenant: string;
  readonly id: string;
  readonly name: string;
}
