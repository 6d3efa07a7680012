import { BlockList, isIP } from 'node:net';

/**
 * What an address is for. `private` is a network of somebody's own, and loopback; `special` is everything that no
 * registry can be at: link-local (where clouds keep credentials), multicast, unspecified, documentation, and addresses
 * that carry another address inside.
 */
export type AddressClass = 'public' | 'private' | 'special';

/** RFC 1918, RFC 6598 (shared by carriers), RFC 4193 (unique local), loopback. */
const privateNetworks = listOf(
  ['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['::1/128', 'fc00::/7'],
);

/** The rest of the IANA special-purpose registries. */
const specialNetworks = listOf(
  [
    '0.0.0.0/8',
    '169.254.0.0/16',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
);

/** The only IPv6 addresses that are handed out for hosts on the internet. */
const globalUnicast = listOf([], ['2000::/3']);

/** Says what an address is for. Text that is no address is `special`: nobody may connect to it. */
export function addressClass(address: string): AddressClass {
  const version = isIP(address);
  if (version === 0) return 'special';
  const family = version === 4 ? 'ipv4' : 'ipv6';
  // An IPv4 address in IPv6 clothes matches IPv4 networks, so it must be turned away before they are asked.
  if (family === 'ipv6' && isMapped(address)) return 'special';
  if (privateNetworks.check(address, family)) return 'private';
  if (specialNetworks.check(address, family)) return 'special';
  return family === 'ipv4' || globalUnicast.check(address, family) ? 'public' : 'special';
}

const mapped = listOf([], ['::ffff:0:0/96']);

function isMapped(address: string): boolean {
  return mapped.check(address, 'ipv6');
}

function listOf(ipv4: readonly string[], ipv6: readonly string[]): BlockList {
  const list = new BlockList();
  for (const [family, networks] of [['ipv4', ipv4] as const, ['ipv6', ipv6] as const]) {
    for (const network of networks) {
      const [base = '', bits] = network.split('/');
      list.addSubnet(base, Number(bits), family);
    }
  }
  return list;
}
