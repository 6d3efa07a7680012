import { reject } from '../../crds/rejections/index.js';
import type { Settings } from '../../pkg/config/index.js';
import type { Metrics } from '../../pkg/metrics/index.js';
import { RequestRejection } from '../http/reply.js';
import type { Caller, Route } from '../http/route.js';

/** What seats are taken for: each has places of its own, so that none can use up those of another. */
export type SeatKind = 'requests' | 'streams' | 'agents' | 'open' | 'openBodies' | 'connections';

/** What is counted together. */
export type SeatScope = 'token' | 'tenant' | 'address' | 'node' | 'server';

/** Whose seat it is: the key under which each scope counts it. A scope that is left out or undefined does not count it. */
export type SeatHolder = Readonly<Partial<Record<SeatScope, string | undefined>>>;

/** The narrowest first: a refusal names the scope that the caller can do something about. */
const SCOPES: readonly SeatScope[] = ['node', 'token', 'tenant', 'address', 'server'];

/** The log streams of an agent, and what it sends beside them. */
export const SEATS_PER_NODE = 128;
const OPEN_PER_ADDRESS = 32;
const OPEN_PER_SERVER = 128;
/** Each holds `openMaxBodyBytes` at most. Many addresses must not keep nodes from renewing their tokens. */
const OPEN_BODIES_PER_SERVER = 2_048;
const MIB = 1024 * 1024;
/** Every request under way may hold a body; this is what they may hold together. */
const BODY_BYTES = { node: 8 * MIB, token: 8 * MIB, tenant: 16 * MIB, server: 64 * MIB };

/** A scope with no more keys than this remembers those that hold nothing: a busy caller is not entered again each time. */
const MOST_IDLE = 1_024;

type SeatLimits = Readonly<Partial<Record<SeatScope, number>>>;

/** The seats of one kind, counted in several scopes. */
export class SeatCounter {
  readonly #limits: readonly (readonly [SeatScope, number])[];
  readonly #taken: Readonly<Record<SeatScope, Map<string, number>>>;
  #count = 0;

  /** A limit of 0 is none. */
  constructor(limits: SeatLimits) {
    this.#limits = SCOPES.flatMap(scope => (limits[scope] ? [[scope, limits[scope]] as const] : []));
    this.#taken = { token: new Map(), tenant: new Map(), address: new Map(), node: new Map(), server: new Map() };
  }

  get count(): number {
    return this.#count;
  }

  /** Takes seats in all scopes, or in none: then gives the scope that has too few left, and its limit. */
  take(holder: SeatHolder, amount = 1): { readonly scope: SeatScope; readonly limit: number } | undefined {
    for (const [scope, limit] of this.#limits) {
      const key = holder[scope];
      if (key !== undefined && (this.#taken[scope].get(key) ?? 0) + amount > limit) return { scope, limit };
    }
    this.#add(holder, amount);
    return undefined;
  }

  release(holder: SeatHolder, amount = 1): void {
    this.#add(holder, -amount);
  }

  #add(holder: SeatHolder, change: number): void {
    this.#count += change;
    for (const [scope] of this.#limits) {
      const key = holder[scope];
      if (key === undefined) continue;
      const taken = this.#taken[scope];
      const count = (taken.get(key) ?? 0) + change;
      if (count === 0 && taken.size > MOST_IDLE) taken.delete(key);
      else taken.set(key, count);
    }
  }
}

type SeatSettings = Pick<
  Settings,
  | 'maxBodyBytes'
  | 'requestsPerServer'
  | 'requestsPerTenant'
  | 'requestsPerToken'
  | 'requestsPerAddress'
  | 'streamsPerServer'
  | 'streamsPerTenant'
  | 'streamsPerToken'
  | 'streamsPerAddress'
  | 'connectionsPerServer'
  | 'connectionsPerAddress'
>;

/**
 * How many requests and streams may be under way at the same time. Those of tenants are bounded per token, per tenant, per
 * address and in all; agents have seats of their own, one set a node, so that no tenant can keep a heartbeat out; an
 * administrator is bounded per token only, so that an overloaded server can still be looked at. The same holds for the
 * bytes of bodies.
 */
export class Seats {
  readonly #counters: Readonly<Record<SeatKind, SeatCounter>>;
  readonly #bodyBytes: SeatCounter;
  readonly #metrics: Metrics;

  constructor(settings: SeatSettings, metrics: Metrics) {
    this.#metrics = metrics;
    const { node, token, tenant, server } = BODY_BYTES;
    const atLeastOne = (bytes: number) => Math.max(bytes, settings.maxBodyBytes);
    this.#bodyBytes = new SeatCounter({
      node: atLeastOne(node),
      token: atLeastOne(token),
      tenant: atLeastOne(tenant),
      server: atLeastOne(server),
    });
    this.#counters = {
      requests: new SeatCounter({
        token: settings.requestsPerToken,
        tenant: settings.requestsPerTenant,
        address: settings.requestsPerAddress,
        server: settings.requestsPerServer,
      }),
      streams: new SeatCounter({
        token: settings.streamsPerToken,
        tenant: settings.streamsPerTenant,
        address: settings.streamsPerAddress,
        server: settings.streamsPerServer,
      }),
      agents: new SeatCounter({ node: SEATS_PER_NODE }),
      open: new SeatCounter({ address: OPEN_PER_ADDRESS, server: OPEN_PER_SERVER }),
      openBodies: new SeatCounter({ address: OPEN_PER_ADDRESS, server: OPEN_BODIES_PER_SERVER }),
      connections: new SeatCounter({
        address: settings.connectionsPerAddress,
        server: settings.connectionsPerServer,
      }),
    };
  }

  /** Takes a seat. Gives how to release it, which may be called once only; or the refusal. */
  take(kind: SeatKind, holder: SeatHolder): (() => void) | RequestRejection {
    const full = this.#counters[kind].take(holder);
    if (!full) return () => this.#counters[kind].release(holder);
    this.#metrics.count('mooring_seats_refused_total', { kind, scope: full.scope });
    return toSeatsRejection(kind, full);
  }

  /** Takes room for the body of a request under way. */
  takeBody(caller: Caller, bytes: number): (() => void) | RequestRejection {
    // Bodies without a token are small, and their seats are the bound.
    const holder = caller.kind === 'anonymous' ? {} : toSeatHolder(caller, '');
    const full = this.#bodyBytes.take(holder, bytes);
    if (!full) return () => this.#bodyBytes.release(holder, bytes);
    this.#metrics.count('mooring_seats_refused_total', { kind: 'bodies', scope: full.scope });
    return toSeatsRejection('bodies', full);
  }

  /** Brings the metrics up to date: they are read far less often than seats are taken. */
  publish(): void {
    for (const [kind, counter] of Object.entries(this.#counters)) {
      this.#metrics.set('mooring_seats_taken', { kind }, counter.count);
    }
    this.#metrics.set('mooring_request_body_bytes', {}, this.#bodyBytes.count);
  }
}

/** Which kind of seats the requests of a caller to a route take; none is for probes. */
export function toSeatKind({ kind }: Caller, route: Route): SeatKind | undefined {
  if (kind === 'node') return 'agents';
  if (kind !== 'anonymous') return 'requests';
  if (route.isProbe) return undefined;
  return route.body === 'none' ? 'open' : 'openBodies';
}

/** In which scopes a caller is counted. */
export function toSeatHolder({ kind, id, tenant, token }: Caller, address: string): SeatHolder {
  switch (kind) {
    case 'node':
      return { node: token?.node ?? id };
    case 'admin':
      return { token: id };
    case 'anonymous':
      return { address, server: '' };
    default:
      return { token: id, tenant, address, server: '' };
  }
}

const SOON = { 'retry-after': '1' };

function overloaded(): RequestRejection {
  return new RequestRejection(reject('server_overloaded', '', ''), SOON);
}

function toSeatsRejection(
  kind: SeatKind | 'bodies',
  { scope, limit }: { readonly scope: SeatScope; readonly limit: number },
): RequestRejection {
  if (scope === 'server') return overloaded();
  const what = kind === 'streams' ? 'stream' : kind === 'bodies' ? 'body byte' : 'request';
  return new RequestRejection(reject('concurrency_limited', '', '', { limit, what, scope }), SOON);
}
