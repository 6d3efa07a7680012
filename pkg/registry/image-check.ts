import type { Clock } from '../clock/index.js';

export type ImageCheck =
  | { readonly outcome: 'present'; readonly digest?: string }
  /** The registry has no such manifest. */
  | { readonly outcome: 'absent' }
  /** Nothing is known about the image. */
  | { readonly outcome: 'unreachable'; readonly reason: UnreachableReason }
  /** The registry requires a login, and the tenant has none for it. */
  | { readonly outcome: 'login_required' }
  /** The registry refuses the login that it was shown. */
  | { readonly outcome: 'credential_refused' }
  /** The registry requires a credential, and the secrets store is unavailable. */
  | { readonly outcome: 'credential_store_unavailable' }
  /** The policy forbids contacting this registry. */
  | { readonly outcome: 'refused'; readonly reason: RefusedReason };

export type UnreachableReason =
  /** The reference names no registry, and there is no default. */
  | 'no_registry'
  | 'unknown_host'
  | 'no_connection'
  /** It does not support TLS, or its certificate is not trusted. */
  | 'no_tls'
  | 'certificate'
  | 'late'
  /** Too many checks of the same tenant are under way. */
  | 'busy'
  | 'redirected'
  /** It refuses anonymous access and the tenant's credential. */
  | 'denied'
  | 'too_large'
  /** It responded with 429 or 5xx. */
  | 'failing'
  /** Its response is not that of a registry, or contradicts itself. */
  | 'unintelligible'
  /** It names a token server that is not known to belong to it. */
  | 'realm';

export type RefusedReason =
  /** The operator has listed registries, and this is not one of them. */
  | 'not_listed'
  /** It has an address that is not public. */
  | 'address'
  /** The host is invalid. */
  | 'host';

/** The result for admission. */
export type ImageFact = ImageCheck['outcome'];

export function toUnreachable(reason: UnreachableReason): ImageCheck {
  return { outcome: 'unreachable', reason };
}

export function toRefused(reason: RefusedReason): ImageCheck {
  return { outcome: 'refused', reason };
}

/** How long a result is cached. Images rarely disappear; a missing one may be pushed at any moment. */
const LIFETIME_MS: Partial<Readonly<Record<ImageCheck['outcome'], number>>> = { present: 60_000, absent: 5_000 };

/** A short-lived LRU cache of check results. */
export class ImageCheckCache {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #results = new Map<string, { readonly check: ImageCheck; readonly until: number }>();

  constructor(clock: Clock, capacity: number) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#results.size;
  }

  get(key: string): ImageCheck | undefined {
    const cached = this.#results.get(key);
    if (!cached) return undefined;
    this.#results.delete(key);
    if (cached.until <= this.#clock.monotonic()) return undefined;
    this.#results.set(key, cached);
    return cached.check;
  }

  /** Caches a result of the registry. An unreachable registry is not cached: it may be back already. */
  put(key: string, check: ImageCheck): void {
    const lifetime = LIFETIME_MS[check.outcome];
    if (lifetime === undefined) return;
    this.#results.delete(key);
    this.#results.set(key, { check, until: this.#clock.monotonic() + lifetime });
    const [oldest] = this.#results.keys();
    if (this.#results.size > this.#capacity && oldest !== undefined) this.#results.delete(oldest);
  }
}
