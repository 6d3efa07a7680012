import type { Replica } from '../../crds/replica/index.js';
import type { Keyring } from '../auth/index.js';
import type { Clock, Random } from '../clock/index.js';
import type { NodeIdentity } from './messages.js';

/** How long a ticket is good. */
export const TICKET_MS = 60_000;

export interface TicketsEnv {
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly random: Random;
}

type Bearer = Pick<NodeIdentity, 'tenant' | 'id'>;
type Subject = Pick<Replica, 'uid' | 'generation'>;

/**
 * Tickets for the secrets of one container: good for one node, one replica, one generation and one minute.
 *
 * A ticket proves itself by a keyed digest, so that giving one out costs no write and any server can check it. That it is
 * used once is for whoever takes it to record, by its public id.
 */
export class Tickets {
  readonly #env: TicketsEnv;

  constructor(env: TicketsEnv) {
    this.#env = env;
  }

  issue(node: Bearer, replica: Subject): string {
    const id = this.#env.random.bytes(12).toString('hex');
    const expires = (this.#env.clock.now() + TICKET_MS).toString(36);
    return `${id}.${expires}.${this.#env.keyring.digest(signed(id, expires, node, replica))}`;
  }

  /** The public id of a ticket that is good for this node and replica now. */
  check(ticket: string, node: Bearer, replica: Subject): string | undefined {
    const [id = '', expires = '', digest = '', ...more] = ticket.split('.');
    if (more.length > 0 || !/^[0-9a-f]{64}$/.test(digest)) return undefined;
    if (!this.#env.keyring.matches(signed(id, expires, node, replica), digest)) return undefined;
    return this.#env.clock.now() < Number.parseInt(expires, 36) ? id : undefined;
  }
}

function signed(id: string, expires: string, { tenant, id: nodeId }: Bearer, { uid, generation }: Subject): string {
  return ['mooring-delivery', id, expires, tenant, nodeId, uid, String(generation)].join('\n');
}
