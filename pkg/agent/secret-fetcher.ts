import type { Replica } from '../../crds/replica/index.js';
import { Fault } from '../fault/index.js';
import type { EnvironmentRequest } from '../link/index.js';
import type { Secret } from '../secrets/index.js';
import type { Assignments } from './assignments.js';

/** There is no ticket for the secrets of a replica. A fresh one has been requested. */
export class MissingTicketFault extends Fault {
  readonly retriable = true;
}

export interface SecretFetcherOptions {
  readonly assignments: Assignments;
  readonly request: (request: EnvironmentRequest) => Promise<ReadonlyMap<string, Secret>>;
  /** Restarts the assignment stream: the snapshot carries fresh tickets. */
  readonly requestTickets: () => void;
}

/**
 * Fetches the secrets of a container that is about to be created, and stores nothing.
 *
 * A ticket is valid once. Whether a failed request used it is unknown, so it is not retried: the next attempt finds no
 * ticket and requests a fresh one.
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
    return Promise.reject(
      new MissingTicketFault('no delivery ticket for the secrets of this replica; a fresh one was requested'),
    );
  }
}
