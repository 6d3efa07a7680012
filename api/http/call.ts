import type { IncomingMessage } from 'node:http';

import type { Role, StoredToken, TokenKind } from '../../crds/tenant/index.js';
import type { Clock, Random } from '../../pkg/clock/index.js';
import type { Logger } from '../../pkg/log/index.js';
import type { Cache, Store } from '../../pkg/store/index.js';
import type { QueryParams } from './query.js';

/** Who is calling, as the token proved it. */
export interface Caller {
  readonly kind: TokenKind | 'anonymous';
  /** Public id of the token: what logs and archives name. */
  readonly id: string;
  readonly tenant: string | undefined;
  readonly role: Role | undefined;
  readonly token: StoredToken | undefined;
}

/** The caller of an open route. */
export const anonymous: Caller = { kind: 'anonymous', id: '', tenant: undefined, role: undefined, token: undefined };

const RANK: Readonly<Record<Role, number>> = { viewer: 1, deployer: 2, admin: 3 };

/** Whether one role includes another. */
export function includesRole(held: Role | undefined, needed: Role): boolean {
  return held !== undefined && RANK[held] >= RANK[needed];
}

/** A request that has passed the pipeline: who calls, for which tenant, with what. */
export interface ApiCall {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly caller: Caller;
  /** The tenant the call is about; empty when it is about none. */
  readonly tenant: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryParams;
  /** The parsed body of a route that takes JSON. */
  readonly document: unknown;
}

/** What nearly every handler reads and writes objects with. */
export interface StorageEnv {
  readonly store: Store;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
