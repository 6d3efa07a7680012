import type { Replica } from '../../crds/replica/index.js';
import { Fault } from '../fault/index.js';
import type { EnvironmentRequest } from '../link/index.js';
import type { Secret } from '../secrets/index.js';
import type { Assignments } from './assignments.js';

/** There is no ticket for the secrets of a replica. A fresh one has been asked for. */
export class NoTicketFault extends Fault {
  readonly retriable = true;
}

export interface SecretCourierParts {
  readonly assignments: Assignments;
  readonly ask: (request: EnvironmentRequest) => Promise<ReadonlyMap<string, Secret>>;
  /** Has the assignments told anew: they come with fresh tickets. */
  readonly askForTickets: () => void;
}

/**
 * Fetches the secrets of a container that is about to be made, and keeps nothing.
 *
 * A ticket is good once. Whether a request that broke off has used it is not known, so it is not tried again: the next
 * attempt finds none and asks for a fresh one.
 */
export class SecretCourier {
  readonly #parts: SecretCourierParts;

  constructor(parts: SecretCourierParts) {
    this.#parts = parts;
  }

  fetch({ uid, generation }: Replica): Promise<ReadonlyMap<string, Secret>> {
    const ticket = this.#parts.assignments.takeTicket(uid);
    if (ticket !== undefined) return this.#parts.ask({ replica: uid, generation, ticket });
    this.#parts.askForTickets();
    return Promise.reject(new NoTicketFault('there is no ticket for the secrets of this replica'));
  }
}
