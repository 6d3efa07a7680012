import type { Replica } from '../../crds/replica/index.js';
import { Fault } from '../fault/index.js';
import type { EnvironmentRequest } from '../link/index.js';
import type { Secret } from '../secrets/index.js';
import type { Assignments } from './assignments.js';

/** There is no ticket for the secrets of a replica. A fresh one has been asked for. */
export class MissingTicketFault extends Fault {
  readonly retriable = true;
}

export interface SecretFetcherOptions {
  readonly assignments: Assignments;
  readonly request: (request: EnvironmentRequest) => Promise<ReadonlyMap<string, Secret>>;
  /** Has the assignments told anew: they come with fresh tickets. */
  readonly requestTickets: () => void;
}

/**
 * Fetches the secrets of a container that is about to be made, and keeps nothing.
 *
 * A ticket is good once. Whether a request that broke off has used it is not known, so it is not tried again: the next
 * attempt finds none and asks for a fresh one.
 */
export class SecretFetcher {
  readonly #parts: SecretFetcherOptions;

  constructor(parts: SecretFetcherOptions) {
    this.#parts = parts;
  }

  fetch({ uid, generation }: Replica): Promise<ReadonlyMap<string, Secret>> {
    const ticket = this.#parts.assignments.takeTicket(uid);
    if (ticket !== undefined) return this.#parts.request({ replica: uid, generation, ticket });
    this.#parts.requestTickets();
    return Promise.reject(new MissingTicketFault('there is no ticket for the secrets of this replica'));
  }
}
