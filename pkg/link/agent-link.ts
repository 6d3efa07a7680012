import type { EnvironmentRequest } from '../../crds/delivery/index.js';
import type { AssignedNetwork, SeenNetwork } from '../../crds/network/index.js';
import type {
  AdvertisedCondition,
  AdvertisedEngine,
  AdvertisedRemovals,
  AdvertisedSetBack,
  Capacity,
  ReplicaUsage,
} from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { ReportBatch } from '../../crds/report/index.js';
import type { AssignedVolume, SeenVolume } from '../../crds/volume/index.js';
import { Fault } from '../fault/index.js';
import type { RegistryRules } from '../registry/index.js';
import type { Secret } from '../secrets/index.js';
import type { NodeCredentials } from './request-proof.js';
import type { ProvenPosition } from './store-history.js';

export type { EnvironmentRequest, ReportBatch };

/**
 * The agent's end of the link.
 *
 * Every method throws `LinkUnreachableFault` when the control plane does not respond and `LinkRefusedFault` when it
 * refuses the request. All methods but `environment` and `pullCredential` are idempotent.
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
  /** The tenant's login for the registry of a replica's image, for one pull. Works once per ticket. */
  pullCredential(request: EnvironmentRequest): Promise<PullCredential>;
  /** The secret variables of one container that is about to be created. Works once per ticket. */
  environment(request: EnvironmentRequest): Promise<ReadonlyMap<string, Secret>>;
  report(batch: ReportBatch): Promise<void>;
  /** Says of the networks of the node which exist. What is left out stays as it was said. */
  reportNetworks(networks: readonly SeenNetwork[]): Promise<void>;
  /** Says of the volumes of the node which exist, and which are gone as was ordered. What is left out stays as it was said. */
  reportVolumes(volumes: readonly SeenVolume[]): Promise<void>;
  /** Which of these node ids the tenant of this node no longer has, so that no other agent removes their containers. */
  findGoneNodes(ids: readonly string[]): Promise<readonly string[]>;
  /** Of an agent that was refused: the replicas of which it runs a second container, or which are not wanted any more. */
  findDoubles(containers: readonly HeldContainer[]): Promise<readonly string[]>;
  /** Which of these deployments the tenant of this node no longer has, so that nothing of them may be kept. */
  findGoneDeployments(uids: readonly string[]): Promise<readonly string[]>;
  /** Sends container output to the server that requested it, until it ends or `signal` is aborted. */
  sendLogs(request: LogRequest, lines: AsyncIterable<LogLine>, signal: AbortSignal): Promise<void>;
  /** Answers the server that the agent has no free log stream, so that the request fails at once. */
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
  readonly engine?: AdvertisedEngine;
  /** Where other nodes of the tenant send copies of volumes to; left out by an agent that takes none. */
  readonly volumeAddress?: string;
  /** What keeps its volumes; left out by an agent that keeps none. */
  readonly volumeDriver?: string;
  /** What its engine cannot do; left out by an agent whose engine can do everything. */
  readonly lacks?: readonly string[];
  /** How long ago the agent last listed its containers. */
  readonly containersSeenMsAgo?: number;
  /** What its containers used, when that was measured since the last heartbeat. */
  readonly usage?: readonly ReplicaUsage[];
  /** Removed volumes whose bytes it still has; left out where it has none. */
  readonly removedVolumes?: AdvertisedRemovals;
  /** Only while the agent holds, because the store was set back. */
  readonly setBack?: SeenSetBack;
}

/** What an agent that holds has seen of the store before, and what would become of its node. */
export interface SeenSetBack extends AdvertisedSetBack {
  readonly seen?: ProvenPosition;
}

export interface HeartbeatReply {
  /** How long the control plane waits for the next heartbeat before it marks the node failed. */
  readonly failedAfterMs: number;
  /** The node was not present when this heartbeat came: a copy of what it writes to may have been promoted meanwhile. */
  readonly wasAbsent?: true;
  /** What the server that answers knew of the store: maybe less than others. */
  readonly store: ProvenPosition;
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
      /** For replicas without a reported container: one ticket each for the login to the registry of the image. */
      readonly pullTickets: Readonly<Record<string, string>>;
      /** Risen when the store was restored from a backup: an older generation of a slot than one seen before is then right. */
      readonly restoreEpoch?: number;
      /** What the declaration of that restore names of this node: the digest of what its agent has reported. */
      readonly confirmed?: string;
      /** What of the store this shows. */
      readonly store: ProvenPosition;
      /** The store is older than it was, and that was not declared: nothing of this is to be done. */
      readonly isSetBack?: true;
      readonly policy?: NodePolicy;
      /** The networks of the node. */
      readonly networks: readonly AssignedNetwork[];
      /** The volumes whose bytes are on the node. */
      readonly volumes: readonly AssignedVolume[];
    }
  | { readonly type: 'set'; readonly replica: Replica; readonly ticket?: string; readonly pullTicket?: string }
  | { readonly type: 'drop'; readonly uid: string }
  /** All networks of the node, after a change of one. */
  | { readonly type: 'networks'; readonly networks: readonly AssignedNetwork[] }
  /** All volumes of the node, after a change of one. */
  | { readonly type: 'volumes'; readonly volumes: readonly AssignedVolume[] }
  | { readonly type: 'logs'; readonly request: LogRequest }
  /** Sent to every node of the tenant: only one that has kept this log responds. */
  | { readonly type: 'kept-logs'; readonly request: LogRequest }
  | { readonly type: 'ping' };

/** The settings of the platform that agents carry out. */
export interface NodePolicy {
  /** Which registries images may come from. */
  readonly registries?: RegistryRules;
}

/** The tenant's login for a registry, or the name of the secret that it would be read from. */
export type PullCredential =
  | { readonly kind: 'found'; readonly username: string; readonly password: Secret; readonly secret: string }
  | { readonly kind: 'none'; readonly secret: string };

/** The response to `POST /agent/v1/pull-credential`. Never logged, never stored. */
export interface PullCredentialReply {
  /** Path of the secret that is looked for. */
  readonly secret: string;
  /** Absent when the tenant has no such secret. */
  readonly login?: { readonly username: string; readonly password: string };
}

/** The response to `POST /agent/v1/environment`: the secret variables. Never logged, never stored. */
export interface EnvironmentReply {
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Stored at `log-requests/<tenant>/<nodeId>/<id>` on a short lease by the API server that wants the stream; at
 * `log-requests/<tenant>/any/<id>` when every node of the tenant is asked for the log of a removed container.
 */
export interface LogRequest {
  readonly id: string;
  /** The replica whose container is read; empty when only a kept log is wanted. */
  readonly replica: string;
  /** The slot that it fills. */
  readonly deploymentUid: string;
  readonly slot: number;
  readonly follow: boolean;
  readonly tail: number;
  /** Only entries of this time or later: seconds since 1970 with nine decimals. */
  readonly since?: string;
  /** Only what follows this position of an earlier stream. */
  readonly after?: string;
  /** Where the agent posts the stream: the address of the server that waits for it. */
  readonly server: string;
}

/** `tail` of a request for the whole log. */
export const WHOLE_LOG = 100_000;

/** The node of a request that every node of the tenant gets. */
export const ANY_NODE = 'any';

/**
 * One line of the body of `POST <server>/agent/v1/logs/<id>`: text of the container, verbatim, line breaks included.
 *
 * A stream has a line with `begin` first and one with `end` last; without `end` it broke off. Lines without text show that the
 * agent is alive, at least every 5 s.
 */
export interface LogLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
  /** When the engine received it: seconds since 1970 with nine decimals. */
  readonly at?: string;
  /** The place right after it: what `LogRequest.after` takes. */
  readonly position?: string;
  readonly begin?: LogBegin;
  readonly end?: LogEnd;
  /** Lines before this one are lost: the engine, or the agent, no longer has them. */
  readonly gap?: true;
}

/** A container that an agent has found on its engine. */
export interface HeldContainer {
  readonly replica: string;
  readonly containerId: string;
}

/** The rejection code for an agent whose node another agent with the same identity has. */
export const NODE_HELD = 'node_held_by_another_agent';

export interface LogBegin {
  /** Set when it is the log of a removed container: when that was removed. */
  readonly removedAt?: string;
}

/** Why a stream of logs ended. */
export type LogEnd =
  /** All that there is has been sent. */
  | 'complete'
  /** The container was removed while it was followed. */
  | 'container_gone'
  /** There is no container, and no log of an earlier one. */
  | 'no_container'
  | 'engine_unreachable';

/** A log stream that has been silent for this long is broken. */
export const LOG_SILENCE_MS = 20_000;

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
