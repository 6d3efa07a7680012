import type { KeyObject } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import type { StoredNode } from '../../crds/node/index.js';
import { reject } from '../../crds/rejections/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { NODES_BY_ID } from '../../pkg/fleet/index.js';
import {
  AGENT_HEADER,
  formatProofText,
  isSignedBy,
  NO_DIGEST,
  NODE_HEADER,
  parseAgentRun,
  parseNodeKey,
  parseProof,
  PROOF_HEADER,
  PROOF_WINDOW_MS,
  type RequestProof,
  TIME_HEADER,
} from '../../pkg/link/index.js';
import { type Cache, value } from '../../pkg/store/index.js';
import type { BodyRule, Caller } from '../http/route.js';
import { rejectRequest, RequestRejection } from '../http/reply.js';

export interface NodeProofEnv {
  readonly cache: Cache;
  readonly clock: Clock;
}

/** A request whose proof is good. `digest` is what the body must have; undefined for one that is not covered. */
export interface ProofResult {
  readonly digest: string | undefined;
}

/** Whether the node has signed the text. The signature is in base64. */
export type SignatureCheck = (node: StoredNode, text: string, signature: string) => boolean;

type SignedRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

const BEARER = /^Bearer (.*)$/i;

/**
 * Proof of possession: a request with a node's token counts only with a signature by the node's key over this very request.
 *
 * A proof is good for `PROOF_WINDOW_MS` and is accepted once by a server. Proofs from before the server started are
 * refused, because it does not know which of them were used.
 */
export class NodeProofs {
  readonly #env: NodeProofEnv;
  readonly #isSigned: SignatureCheck;
  #startedAt: number;
  readonly #windows = new Map<string, ReplayWindow>();
  #sweepAt: number;

  /** `isSigned` is replaced only by simulations, which make few real signatures. */
  constructor(env: NodeProofEnv, isSigned: SignatureCheck = createSignatureCheck()) {
    this.#env = env;
    this.#isSigned = isSigned;
    this.#startedAt = env.clock.now();
    this.#sweepAt = this.#startedAt;
  }

  /** Checks the proof of a request of a node. The node must still exist, with the key that signed. */
  async check(caller: Caller, request: SignedRequest, body: BodyRule): Promise<ProofResult | RequestRejection> {
    if (request.headers[PROOF_HEADER] === undefined) {
      return rejectRequest('node_proof_required', 'Mooring-Proof', '');
    }
    const proof = readProof(request, body);
    if (!proof) return rejectInvalid();
    const id = caller.token?.node ?? '';
    let node = this.#findNode(id);
    if (!node) await this.#env.cache.barrier(); // a node that has just enrolled at another server
    node ??= this.#findNode(id);
    if (!node) return rejectRequest('auth_invalid', 'Authorization', '');
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1] ?? '';
    return this.#admit(node, request, proof, token) ?? { digest: body === 'json' ? proof.digest : undefined };
  }

  /** The node that has signed a request to a route without a token; undefined when none has, or when it was sent before. */
  findSigner(request: SignedRequest, body: BodyRule): string | undefined {
    const proof = readProof(request, body);
    const node = proof && this.#findNode(String(request.headers[NODE_HEADER] ?? ''));
    return node && !this.#admit(node, request, proof, '') ? node.id : undefined;
  }

  /** Verifies a proof and uses it up; gives the refusal when it is not good. */
  #admit(
    node: StoredNode,
    { headers, method = '', url = '' }: SignedRequest,
    proof: RequestProof,
    token: string,
  ): RequestRejection | undefined {
    const agent = String(headers[AGENT_HEADER] ?? '');
    const text = formatProofText({ method, path: url, token, agent }, proof);
    if (!this.#isSigned(node, text, proof.signature)) return rejectInvalid();
    const now = this.#env.clock.now();
    // The clock was ahead when the server started: what was signed then is out of the window by now.
    if (this.#startedAt > now + PROOF_WINDOW_MS) this.#startedAt = now;
    if (Math.abs(now - proof.at) > PROOF_WINDOW_MS || proof.at < this.#startedAt) return rejectStale(now);
    if (this.#windowOf(node.id, now).admit(proof.at, now)) return undefined;
    return rejectRequest('node_proof_replayed', 'Mooring-Proof', '');
  }

  #findNode(id: string): StoredNode | undefined {
    const entry = this.#env.cache.by(NODES_BY_ID, id)[0];
    return entry && value<StoredNode>(entry);
  }

  #windowOf(nodeId: string, now: number): ReplayWindow {
    if (now - this.#sweepAt > PROOF_WINDOW_MS) {
      this.#sweepAt = now;
      for (const [id, window] of this.#windows) if (window.isIdle(now)) this.#windows.delete(id);
    }
    const known = this.#windows.get(nodeId);
    if (known) return known;
    const opened = new ReplayWindow();
    this.#windows.set(nodeId, opened);
    return opened;
  }
}

/** Remembers the keys: to parse one costs as much as to verify with it. */
function createSignatureCheck(): SignatureCheck {
  const keys = new WeakMap<StoredNode, KeyObject>();
  return (node, text, signature) => {
    const key = keys.get(node) ?? parseNodeKey(node.publicKey);
    if (key) keys.set(node, key);
    return isSignedBy(key, text, signature);
  };
}

/** The proof of a request, where it covers what it must and names its run as agents do. */
function readProof({ headers }: SignedRequest, body: BodyRule): RequestProof | undefined {
  const { [PROOF_HEADER]: header, [AGENT_HEADER]: agent } = headers;
  const proof = typeof header === 'string' ? parseProof(header) : undefined;
  const isRunNamed = typeof agent === 'string' && parseAgentRun(agent) !== undefined;
  return isRunNamed && (proof?.digest !== NO_DIGEST) === (body === 'json') ? proof : undefined;
}

function rejectInvalid(): RequestRejection {
  return rejectRequest('node_proof_invalid', 'Mooring-Proof', '');
}

/** The server's time lets an agent correct its own: a machine whose clock is wrong stays a node. */
function rejectStale(now: number): RequestRejection {
  const refusal = reject('node_proof_stale', 'Mooring-Proof', '', { seconds: PROOF_WINDOW_MS / 1000 });
  return new RequestRejection(refusal, { [TIME_HEADER]: String(now) });
}

/** More than the rate limit of a node allows in two windows. */
const REMEMBERED_MAX = 4_096;

/**
 * The times of a node's proofs that were used. An agent gives no time to two proofs, so a time identifies a proof.
 *
 * It is bounded: when it is full the oldest time is forgotten, and nothing as old as it is accepted any more. Times that are
 * too far ahead to be accepted are from before the clock was set back, and count for nothing.
 */
export class ReplayWindow {
  readonly #used = new Set<number>();
  #floor = Number.NEGATIVE_INFINITY;
  #newest = Number.NEGATIVE_INFINITY;

  /** Notes a time. False when a proof of it was used, or may have been. */
  admit(at: number, now: number): boolean {
    this.#forget(now);
    if (at <= this.#floor || this.#used.has(at)) return false;
    this.#used.add(at);
    this.#newest = Math.max(this.#newest, at);
    return true;
  }

  /** Whether every time it remembers is too old, or too far ahead, to be accepted anyway. */
  isIdle(now: number): boolean {
    return isOutside(this.#newest, now);
  }

  #forget(now: number): void {
    if (this.#floor > now && isOutside(this.#floor, now)) this.#floor = Number.NEGATIVE_INFINITY;
    if (this.#newest > now && isOutside(this.#newest, now)) this.#newest = Number.NEGATIVE_INFINITY;
    for (const at of this.#used) {
      const isExpired = isOutside(at, now);
      if (!isExpired && this.#used.size < REMEMBERED_MAX) return;
      this.#used.delete(at);
      if (!isExpired) this.#floor = Math.max(this.#floor, at);
    }
  }
}

function isOutside(at: number, now: number): boolean {
  return Math.abs(now - at) > PROOF_WINDOW_MS;
}
