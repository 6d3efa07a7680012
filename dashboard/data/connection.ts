import { findDotSegment } from '../../crds/grammar/index.js';
import type { PatchStep } from '../../crds/rejections/index.js';

/** One reason of a refusal, as the API gives it. */
export interface ShownRejection {
  readonly code: string;
  readonly field: string;
  readonly message?: string;
  readonly expected?: string;
  readonly why?: string;
  readonly doc?: string;
  /** Makes the document acceptable, where that is certain. */
  readonly fix?: readonly PatchStep[];
}

/** A request that the server has refused, or that it could not be reached with. */
export class RefusedCall extends Error {
  readonly status: number;
  readonly rejections: readonly ShownRejection[];

  constructor(status: number, rejections: readonly ShownRejection[]) {
    super(describe(status, rejections));
    this.status = status;
    this.rejections = rejections;
  }
}

function describe(status: number, [first]: readonly ShownRejection[]): string {
  if (!first) return status === 0 ? 'the server does not answer' : `the server answered with status ${status}`;
  return `${first.why ?? first.message ?? first.code} (${first.code})`;
}

/**
 * Calls of the public API with one token, for one tenant. The token is in the memory of the page and nowhere else: no storage, no
 * cookie, no address.
 */
export class ApiConnection {
  readonly #token: string | undefined;
  readonly tenant: string | undefined;

  /** Without a token: for what is open. */
  constructor(token?: string, tenant?: string) {
    this.#token = token;
    this.tenant = tenant;
  }

  /** The same token for another tenant. */
  for(tenant: string): ApiConnection {
    return new ApiConnection(this.#token, tenant);
  }

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const response = await this.open(path, 'application/json', signal);
    return (await response.json()) as T;
  }

  /** Asks for a change; with a `revision`, only of what is still at it. */
  async send<T>(
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    revision?: string,
    signal?: AbortSignal,
  ): Promise<T> {
    const headers: Record<string, string> = {};
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (revision !== undefined) headers['if-match'] = `"${revision}"`;
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await this.#fetch(path, 'application/json', init, signal);
    return (await response.json()) as T;
  }

  /** An answer whose body is still to be read. Throws what is refused. */
  open(path: string, accept: string, signal?: AbortSignal): Promise<Response> {
    return this.#fetch(path, accept, {}, signal);
  }

  async #fetch(path: string, accept: string, request: RequestInit, signal?: AbortSignal): Promise<Response> {
    const dots = findDotSegment(path);
    // A browser would send it to another path: a link, or a field, may have it as a name.
    if (dots !== undefined) {
      const why = `"${dots}" is the name of no object: name the object itself`;
      throw new RefusedCall(404, [{ code: 'endpoint_not_found', field: 'path', why }]);
    }
    const own = request.headers as Record<string, string> | undefined;
    const headers: Record<string, string> = { ...own, accept };
    if (this.#token !== undefined) headers['authorization'] = `Bearer ${this.#token}`;
    if (this.tenant !== undefined) headers['x-tenant-id'] = this.tenant;
    const safe = { credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' } as const;
    const init: RequestInit = { ...request, ...safe, headers };
    const response = await fetch(path, signal ? { ...init, signal } : init).catch((thrown: unknown) => {
      if (signal?.aborted) throw thrown;
      throw new RefusedCall(0, []);
    });
    if (response.ok) return response;
    throw new RefusedCall(response.status, await readRejections(response));
  }
}

async function readRejections(response: Response): Promise<readonly ShownRejection[]> {
  try {
    const body = (await response.json()) as ShownRejection & { readonly rejections?: readonly ShownRejection[] };
    return body.rejections ?? [body];
  } catch {
    return [];
  }
}
