import type { Replica } from '../../crds/replica/index.js';
import type { Keyring } from '../auth/index.js';
import type { Clock, Random } from '../clock/index.js';
import type { NodeIdentity } from './agent-link.js';

export const TICKET_MS = 60_000;

export interface TicketsEnv {
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly random: Random;
}

type Bearer = Pick<NodeIdentity, 'tenant' | 'id'>;
type Subject = Pick<Replica, 'uid' | 'generation'>;

/** What a ticket is good for: the variables of a container, or the login for pulling its image. */
export type TicketPurpose = 'environment' | 'pull';

/**
 * Tickets for the secrets of one container, or for the login that pulls its image: valid for one node, one replica, one generation and one minute.
 *
 * A ticket carries a keyed digest, so issuing one costs no write and any server can check it. That it is used only once
 * is recorded on redemption, under its public id.
 */
export class Tickets {
  readonly #env: TicketsEnv;

  constructor(env: TicketsEnv) {
    this.#env = env;
  }

  issue(node: Bearer, replica: Subject, purpose: TicketPurpose = 'environment'): string {
    const id = this.#env.random.bytes(12).toString('hex');
    const expires = (this.#env.clock.now() + TICKET_MS).toString(36);
    return `${id}.${expires}.${this.#env.keyring.digest(signedText(id, expires, node, replica, purpose))}`;
  }

  /** The public id of the ticket when it is valid for this node and replica now. */
  check(ticket: string, node: Bearer, replica: Subject, purpose: TicketPurpose = 'environment'): string | undefined {
    const [id = '', expires = '', digest = '', ...more] = ticket.split('.');
    if (more.length > 0 || !/^[0-9a-f]{64}$/.test(digest)) return undefined;
    if (!this.#env.keyring.matches(signedText(id, expires, node, replica, purpose), digest)) return undefined;
    return this.#env.clock.now() < Number.parseInt(expires, 36) ? id : undefined;
  }
}

function signedText(
  id: string,
  expires: string,
  { tenant, id: nodeId }: Bearer,
  { uid, generation }: Subject,
  purpose: TicketPurpose,
): string {
  return [
    purpose === 'pull' ? 'mooring-pull' : 'mooring-delivery',
    id,
    expires,
    tenant,
    nodeId,
    uid,
    String(generation),
  ].join('\n');
}
