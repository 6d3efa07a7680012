import type { Replica } from '../../../crds/replica/index.js';
import { type EnvironmentRequest, LinkRefusedFault, type PullCredential } from '../../link/index.js';
import type { Secret } from '../../secrets/index.js';
import type { Assignments } from '../assignments.js';
import { MissingTicketFault } from './next-step.js';

export interface SecretFetcherParts {
  readonly assignments: Assignments;
  readonly requestSecrets: (request: EnvironmentRequest) => Promise<ReadonlyMap<string, Secret>>;
  readonly requestLogin: (request: EnvironmentRequest) => Promise<PullCredential>;
  /** Restarts the assignment stream: its snapshot carries fresh tickets. */
  readonly requestTickets: () => void;
}

/**
 * Exchanges tickets for secrets at the last moment, so that no value is held longer than the one call that needs it.
 *
 * A ticket is valid once. Whether a failed request used it is unknown, so it is not retried: the next attempt finds no ticket and
 * requests a fresh one.
 */
export class SecretFetcher {
  readonly #parts: SecretFetcherParts;

  constructor(parts: SecretFetcherParts) {
    this.#parts = parts;
  }

  /** The secret variables of a container. `onMissing` is called when there is no ticket. */
  async fetchSecrets(
    { uid, generation, template: { secrets = [] } }: Replica,
    onMissing: () => void,
  ): Promise<ReadonlyMap<string, Secret>> {
    const { assignments, requestSecrets, requestTickets } = this.#parts;
    if (secrets.length === 0) return new Map();
    const ticket = assignments.takeTicket(uid);
    if (ticket !== undefined) return requestSecrets({ replica: uid, generation, ticket });
    requestTickets();
    onMissing();
    throw new MissingTicketFault('no delivery ticket for the secrets of this replica; a fresh one was requested');
  }

  /** The tenant's login for the registry of the image. */
  async fetchLogin({ uid, generation }: Replica): Promise<PullCredential> {
    const { assignments, requestLogin, requestTickets } = this.#parts;
    const ticket = assignments.takePullTicket(uid);
    try {
      if (ticket !== undefined) return await requestLogin({ replica: uid, generation, ticket });
    } catch (thrown) {
      const isSpent = thrown instanceof LinkRefusedFault && thrown.code.startsWith('delivery_ticket_');
      if (!isSpent) throw thrown;
    } finally {
      requestTickets(); // the next attempt needs another
    }
    throw new MissingTicketFault('no ticket for the login to the registry of this replica; a fresh one was requested');
  }
}
