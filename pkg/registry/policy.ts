import { BlockList, isIP } from 'node:net';

import { InvalidSettingFault, type Settings } from '../config/index.js';
import { type Host, hostOfUrl, isSameHost, parseHost } from './image-location.js';

/** The settings that say which registries may be asked. */
export type RegistrySettings = Pick<
  Settings,
  'registryAllow' | 'registryInsecure' | 'registryRealms' | 'registryDefault' | 'registryCaFile'
>;

/** Who may be asked, and how. */
export interface RegistryPolicy {
  /** Hosts that may be asked; empty: every host that has public addresses only. */
  readonly allow: ReadonlySet<string>;
  /** Hosts that may also be asked without TLS, and at private addresses and on loopback. */
  readonly insecure: ReadonlySet<string>;
  /** Token servers of a registry, beside itself. */
  readonly realms: ReadonlyMap<string, readonly Host[]>;
  readonly defaultRegistry?: Host;
}

/** Reads the policy from settings. A host that cannot be one is a fault: a list that is misread protects nobody. */
export function parseRegistryPolicy(settings: RegistrySettings): RegistryPolicy {
  const hosts = (key: 'registryAllow' | 'registryInsecure') =>
    new Set(settings[key].map(text => hostIn(key, text).text));
  const realms = new Map<string, Host[]>();
  for (const pair of settings.registryRealms) {
    const [registry = '', realm = ''] = pair.split('=');
    const { text } = hostIn('registryRealms', registry);
    realms.set(text, [...(realms.get(text) ?? []), hostIn('registryRealms', realm)]);
  }
  return {
    allow: hosts('registryAllow'),
    insecure: hosts('registryInsecure'),
    realms,
    ...(settings.registryDefault !== '' && {
      defaultRegistry: hostIn('registryDefault', settings.registryDefault),
    }),
  };
}

/** Whether images of this registry may be asked for at all. */
export function mayCheck({ allow, insecure }: RegistryPolicy, registry: Host): boolean {
  return allow.size === 0 || allow.has(registry.text) || insecure.has(registry.text);
}

/** Whether an operator, rather than a tenant, chose this host. */
export function isListed({ allow, insecure, realms }: RegistryPolicy, host: Host): boolean {
  const isRealm = [...realms.values()].flat().some(realm => realm.text === host.text);
  return allow.has(host.text) || insecure.has(host.text) || isRealm;
}

/** Whether this host may be connected to at all of these addresses. One that is forbidden condemns the rest. */
export function mayConnect({ insecure }: RegistryPolicy, host: Host, addresses: readonly string[]): boolean {
  const fit: readonly AddressClass[] = insecure.has(host.text) ? ['public', 'private'] : ['public'];
  return addresses.every(address => fit.includes(classifyAddress(address)));
}

/** The token server that a registry names, if it may be one: with TLS, without user-info, and known to belong to it. */
export function findRealm(policy: RegistryPolicy, registry: Host, text: string): { url: URL; host: Host } | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const host = hostOfUrl(url);
  if (!host || url.username !== '' || url.password !== '') return undefined;

  const isPlain = url.protocol === 'http:' && policy.insecure.has(host.text);
  const belongs = [registry, ...(policy.realms.get(registry.text) ?? [])].some(known => isSameHost(known, host));
  return belongs && (isPlain || url.protocol === 'https:') ? { url, host } : undefined;
}

function hostIn(key: string, text: string): Host {
  const host = parseHost(text);
  if (host) return host;
  throw new InvalidSettingFault(`setting "${key}": "${text}" is no host`);
}

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
export function classifyAddress(address: string): AddressClass {
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
