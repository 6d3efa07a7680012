import type { IncomingMessage } from 'node:http';

import type { Caller } from './access/caller.js';
import type { Query } from './query.js';

/** One request that has passed the pipeline: who asks, for which tenant, with what. */
export interface Call {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly caller: Caller;
  /** The tenant the call is about; empty when it is about none. */
  readonly tenant: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The parsed body of a route that takes JSON. */
  readonly document: unknown;
}
