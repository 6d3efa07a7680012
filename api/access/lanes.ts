import { reject } from '../../crds/rejections/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import type { Settings } from '../../pkg/config/index.js';
import { Refused } from '../refusal.js';
import type { Caller } from './caller.js';
import { TokenBuckets } from './token-buckets.js';

/** What an agent needs is a few requests a second; this is far above it and far below what would hurt. */
const AGENT = { perSecond: 50, burst: 500 };
const GUESSING = { perSecond: 10 / 60, burst: 10 };

/**
 * How much each caller may ask for. Tenants, nodes and administrators have allowances of their own, so no tenant can use
 * up what keeps nodes alive, and the open routes of health have none to use up.
 */
export class Lanes {
  readonly #tenants: TokenBuckets;
  readonly #agents: TokenBuckets;
  readonly #guesses: TokenBuckets;
  readonly #perSecond: number;

  constructor(clock: Clock, settings: Pick<Settings, 'rateLimitPerSecond' | 'rateLimitBurst'>) {
    this.#perSecond = settings.rateLimitPerSecond;
    this.#tenants = new TokenBuckets(clock, { perSecond: this.#perSecond, burst: settings.rateLimitBurst });
    this.#agents = new TokenBuckets(clock, AGENT);
    this.#guesses = new TokenBuckets(clock, GUESSING);
  }

  /** Takes one request out of the caller's allowance. */
  refuse({ kind, id, tenant, token }: Caller): Refused | undefined {
    if (kind === 'nobody') return undefined;
    if (kind === 'node') return refusal(this.#agents.take(token?.node ?? id), AGENT.perSecond);
    return refusal(this.#tenants.take(tenant ?? id), this.#perSecond);
  }

  /**
   * Slows down guessing: after ten failures a minute from one address, further ones are told to wait. A request whose
   * token is good never comes here, so nobody can lock anybody out.
   */
  refuseGuessing(address: string): Refused | undefined {
    return refusal(this.#guesses.take(address), GUESSING.perSecond);
  }
}

function refusal(waitSeconds: number, perSecond: number): Refused | undefined {
  if (waitSeconds === 0) return undefined;
  const wait = String(Math.max(1, Math.ceil(waitSeconds)));
  return new Refused(reject('rate_limited', '', '', { perSecond }), { 'retry-after': wait });
}
