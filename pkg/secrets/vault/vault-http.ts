import { Agent, errors, request } from 'undici';

import type { Clock } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import { SecretOutcomeUnknownFault, SecretStoreSealedFault, SecretStoreUnavailableFault } from '../faults.js';
import type { Secret } from '../secret.js';

export interface VaultHttpOptions {
  /** `https://vault.example.com:8200`. */
  readonly address: string;
  /** PEM of the certificate authority to trust, when the server's is not a public one. */
  readonly ca?: string;
  /** How long one call may take, from connecting to the last byte. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
}

export interface VaultCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/v1/`. */
  readonly path: string;
  readonly body?: unknown;
  readonly token?: Secret;
  /** The Vault namespace, where the server has them. */
  readonly namespace?: string;
}

/** A response about the request itself: done, malformed, forbidden, not found. */
export interface VaultResponse {
  readonly status: 200 | 204 | 400 | 403 | 404;
  readonly body: unknown;
}

const TIMEOUT_MS = 5_000;
const ANSWER_BYTES = 4 * 1024 * 1024;
const SPOKEN: ReadonlySet<number> = new Set([200, 204, 400, 403, 404]);
const TOO_MANY = 429;
const SERVICE_UNAVAILABLE = 503;

/** Errors of a connection that was never established: the request was not sent. */
const UNSENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * HTTP to a Vault or OpenBao server. A call without a clear response is a fault: unavailable when nothing can have been
 * changed, outcome unknown when a change was sent and no response came back.
 */
export class VaultHttp {
  readonly #address: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #dispatcher: Agent;

  constructor({ address, ca, clock, timeoutMs = TIMEOUT_MS }: VaultHttpOptions) {
    this.#address = address.replace(/\/+$/, '');
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#dispatcher = new Agent({
      connect: { timeout: timeoutMs, ...(ca !== undefined && { ca }) },
      maxResponseSize: ANSWER_BYTES,
    });
  }

  async call(call: VaultCall): Promise<VaultResponse> {
    const { status, text } = await this.#exchange(call);
    if (status === SERVICE_UNAVAILABLE && (await this.#isSealed())) {
      throw new SecretStoreSealedFault('the secrets server is sealed: an operator must unseal it');
    }
    if (!SPOKEN.has(status)) throw toCallFault(call, status === TOO_MANY, `it responded with status ${status}`);
    const body = text === '' ? undefined : parsed(text);
    if (body === undefined && status === 200) throw toCallFault(call, false, 'its response is not JSON');
    return { status: status as VaultResponse['status'], body };
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  async #exchange(call: VaultCall): Promise<{ status: number; text: string }> {
    const { method, path, body, token, namespace } = call;
    const timeout = new AbortController();
    const cancel = this.#clock.after(this.#timeoutMs, () => timeout.abort());
    try {
      const answer = await request(`${this.#address}/v1/${path}`, {
        method,
        dispatcher: this.#dispatcher,
        signal: timeout.signal,
        headers: {
          'x-vault-request': 'true',
          ...(token && { 'x-vault-token': token.reveal() }),
          ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch (thrown) {
      throw toCallFault(call, wasNotSent(thrown), 'it did not respond', asError(thrown));
    } finally {
      cancel();
    }
  }

  /** Checked only after a 503, which a server also sends while it starts or elects a leader. */
  async #isSealed(): Promise<boolean> {
    try {
      const { status, text } = await this.#exchange({ method: 'GET', path: 'sys/seal-status' });
      return status === 200 && (parsed(text) as { sealed?: unknown } | undefined)?.sealed === true;
    } catch {
      return false;
    }
  }
}

/** The fault for a call without a clear response. The cause comes from the transport and holds no body. */
function toCallFault({ method }: VaultCall, isUnchanged: boolean, what: string, cause?: Error): Error {
  const options = cause && { cause };
  return isUnchanged || method === 'GET'
    ? new SecretStoreUnavailableFault(`the secrets server is unavailable: ${what}`, options)
    : new SecretOutcomeUnknownFault(`whether the secrets server made a change is unknown: ${what}`, options);
}

function wasNotSent(thrown: unknown): boolean {
  if (thrown instanceof errors.ConnectTimeoutError) return true;
  // The code of an aborted call is a number.
  const code: unknown = (thrown as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && (UNSENT.has(code) || code.startsWith('ERR_TLS') || code.startsWith('CERT_'));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
