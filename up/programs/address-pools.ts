import { createHash } from 'node:crypto';

/** A range that an engine cuts networks of `size` from, in the words of its own configuration. */
export interface AddressPool {
  readonly base: string;
  readonly size: number;
}

const PARTS = 256;

/** The address range for the networks of all engines of our own, and for nothing else. */
export const POOLS = '10.213.0.0/16';

/**
 * Where an engine finds addresses for its networks: in all of `POOLS`, which has room for many tenants, but begun
 * at a place of its own.
 *
 * An engine takes the first network that the machine does not have yet. Two engines that look at the same moment would
 * take the same one, and so would one that comes back to what another has taken meanwhile.
 */
export function listAddressPools(folder: string): readonly AddressPool[] {
  const [from = 0] = createHash('sha256').update(folder).digest();
  return Array.from({ length: PARTS }, (_, part) => ({ base: `10.213.${(from + part) % PARTS}.0/24`, size: 26 }));
}
