import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

/**
 * The credentials of an enrolled agent. The token alone is worth nothing: every request is signed with the node's key.
 */
export interface NodeCredentials {
  readonly token: string;
  /** Signs with the node's key; the signature is in base64. */
  sign(text: string): string;
  /** Wall time in milliseconds for the next proof. Never returns the same value twice. */
  now(): number;
  /** Value of `AGENT_HEADER`: which run of which agent this is. */
  readonly agent: string;
}

/** The header that carries the proof of an agent's request. */
export const PROOF_HEADER = 'mooring-proof';

/** The header that distinguishes runs of agents with one identity, as `formatAgentRun` writes it. It is signed. */
export const AGENT_HEADER = 'mooring-agent';

/** The header that names the node which has signed a request without a token. */
export const NODE_HEADER = 'mooring-node';

/** The server's wall time in milliseconds, in the answer to a proof that is too old or too new. */
export const TIME_HEADER = 'mooring-time';

/** How far the time of a proof may be from the server's. */
export const PROOF_WINDOW_MS = 30_000;

/** How far the time of a renewal may be from the server's. A time that is further ahead was made with a wrong clock. */
export const RENEWAL_SKEW_MS = 120_000;

/** In place of a digest, for a request without a body or with a streamed one. */
export const NO_DIGEST = '-';

/** A proof as it was sent, before it is verified. */
export interface RequestProof {
  readonly at: number;
  /** SHA-256 of the body in base64, or `NO_DIGEST`. */
  readonly digest: string;
  readonly signature: string;
}

/** The request that a proof is made for. */
export interface ProvenRequest {
  readonly method: string;
  /** Path and query, as they are sent. */
  readonly path: string;
  readonly token: string;
  /** Value of `AGENT_HEADER`. */
  readonly agent: string;
}

const FORM = /^v1\.(\d{1,15})\.(-|[A-Za-z0-9+/]{43}=)\.([A-Za-z0-9+/]{86}==)$/;

export function parseProof(header: string): RequestProof | undefined {
  const [, at, digest, signature] = FORM.exec(header) ?? [];
  if (at === undefined || digest === undefined || signature === undefined) return undefined;
  return { at: Number(at), digest, signature };
}

/** The text that is signed. The token is part of it, so that a proof is worth nothing beside another token. */
export function formatProofText(
  { method, path, token, agent }: ProvenRequest,
  { at, digest }: Pick<RequestProof, 'at' | 'digest'>,
): string {
  return ['mooring-request', method, path, token, agent, String(at), digest].join('\n');
}

/** The headers that prove a request. `body` is what is sent; a streamed body is not covered. */
export function signRequest(
  { token, sign, now, agent }: NodeCredentials,
  { method, path, body }: Pick<ProvenRequest, 'method' | 'path'> & { readonly body?: string | undefined },
): Record<string, string> {
  const at = now();
  const digest = body === undefined ? NO_DIGEST : digestBody(Buffer.from(body));
  const text = formatProofText({ method, path, token, agent }, { at, digest });
  return {
    authorization: `Bearer ${token}`,
    [PROOF_HEADER]: `v1.${at}.${digest}.${sign(text)}`,
    [AGENT_HEADER]: agent,
  };
}

/** The public key of a node; undefined for a text that is none, as of a node that was handed over and has no key yet. */
export function parseNodeKey(publicKey: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

/** Whether the holder of a key has signed a text with it. The signature is in base64. */
export function isSignedBy(key: KeyObject | undefined, text: string, signature: string): boolean {
  try {
    return key !== undefined && verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
  } catch {
    return false; // a key that signs nothing of this kind
  }
}

/** The headers that prove who sends a request without a token, before its body is read. */
export function signOpenRequest(
  credentials: NodeCredentials,
  nodeId: string,
  request: Pick<ProvenRequest, 'method' | 'path'> & { readonly body: string },
): Record<string, string> {
  const { authorization: _, ...headers } = signRequest({ ...credentials, token: '' }, request);
  return { ...headers, [NODE_HEADER]: nodeId };
}

/** SHA-256 in base64. */
export function digestBody(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}
