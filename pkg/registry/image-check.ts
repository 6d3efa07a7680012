import type { Clock } from '../clock/index.js';

/** What came of asking a registry for a manifest. */
export type ImageCheck =
  | { readonly outcome: 'present'; readonly digest?: string }
  /** The registry itself says that it has no such manifest. */
  | { readonly outcome: 'absent' }
  /** Nothing is known about the image. */
  | { readonly outcome: 'unreachable'; readonly reason: UnreachableReason }
  /** The registry wants a credential, and it is not known whether the tenant has one. */
  | { readonly outcome: 'credential_store_unavailable' }
  /** The registry is one that may not be asked. */
  | { readonly outcome: 'refused'; readonly reason: RefusedReason };

export type UnreachableReason =
  /** The reference names no registry, and none is the default. */
  | 'no_registry'
  | 'unknown_host'
  | 'no_connection'
  /** It does not speak TLS, or its certificate is not to be trusted. */
  | 'no_tls'
  | 'certificate'
  | 'late'
  /** Too many checks of the same tenant are under way. */
  | 'busy'
  | 'redirected'
  /** It lets us in with no credential that we have. */
  | 'denied'
  | 'too_large'
  /** It has trouble of its own: 429 and 5xx. */
  | 'failing'
  /** Its answer is none that a registry gives, or contradicts itself. */
  | 'unintelligible'
  /** It sends us for a token to a place that is not known to belong to it. */
  | 'realm';

export type RefusedReason =
  /** The operator has listed registries, and this is none of them. */
  | 'not_listed'
  /** It is at an address that no public registry has. */
  | 'address'
  /** No host can be called so. */
  | 'host';

/** What admission needs to know of an image. */
export type ImageFact = 'present' | 'absent' | 'unreachable' | 'credential_store_unavailable';

/** An image of a registry that may not be asked is, to admission, one that nothing is known about. */
export function toImageFact({ outcome }: ImageCheck): ImageFact {
  return outcome === 'refused' ? 'unreachable' : outcome;
}

export function toUnreachable(reason: UnreachableReason): ImageCheck {
  return { outcome: 'unreachable', reason };
}

export function toRefused(reason: RefusedReason): ImageCheck {
  return { outcome: 'refused', reason };
}

/** How long an answer holds. An image seldom goes away; one that is missing may be pushed at any moment. */
const HOLDS_MS: Partial<Readonly<Record<ImageCheck['outcome'], number>>> = { present: 60_000, absent: 5_000 };

/** Answers of registries, for a short while. The one that was not asked for longest goes first. */
export class ImageCheckCache {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #answers = new Map<string, { readonly check: ImageCheck; readonly until: number }>();

  constructor(clock: Clock, capacity: number) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#answers.size;
  }

  get(key: string): ImageCheck | undefined {
    const answer = this.#answers.get(key);
    if (!answer) return undefined;
    this.#answers.delete(key);
    if (answer.until <= this.#clock.monotonic()) return undefined;
    this.#answers.set(key, answer);
    return answer.check;
  }

  /** Keeps what a registry has said. That one could not be asked is not kept: it may be back already. */
  put(key: string, check: ImageCheck): void {
    const holds = HOLDS_MS[check.outcome];
    if (holds === undefined) return;
    this.#answers.delete(key);
    this.#answers.set(key, { check, until: this.#clock.monotonic() + holds });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > this.#capacity && oldest !== undefined) this.#answers.delete(oldest);
  }
}
