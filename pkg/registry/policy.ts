import { BlockList, isIP } from 'node:net';

import { InvalidSettingFault, type Settings } from '../config/index.js';
import { type Host, isSameHost, parseHost } from './image-location.js';

export type RegistrySettings = Pick<
  Settings,
  'registryAllow' | 'registryInsecure' | 'registryRealms' | 'registryDefault' | 'registryCaFile'
>;

export interface RegistryPolicy {
  /** Hosts that may be contacted; empty: every host that has public addresses only. */
  readonly allow: ReadonlySet<string>;
  /** Hosts that may also be contacted without TLS, at private addresses and on loopback. */
  readonly insecure: ReadonlySet<string>;
  /** Token servers of a registry, besides itself. */
  readonly realms: ReadonlyMap<string, readonly Host[]>;
  readonly defaultRegistry?: Host;
}

/** Reads the policy from the settings. Throws for an invalid host: a misread list protects nothing. */
export function parseRegistryPolicy(settings: RegistrySettings): RegistryPolicy {
  const hosts = (key: 'registryAllow' | 'registryInsecure') =>
    new Set(settings[key].map(text => parseSettingHost(key, text).text));
  const realms = new Map<string, Host[]>();
  for (const pair of settings.registryRealms) {
    const [registry = '', realm = ''] = pair.split('=');
    const { text } = parseSettingHost('registryRealms', registry);
    realms.set(text, [...(realms.get(text) ?? []), parseSettingHost('registryRealms', realm)]);
  }
  return {
    allow: hosts('registryAllow'),
    insecure: hosts('registryInsecure'),
    realms,
    ...(settings.registryDefault !== '' && {
      defaultRegistry: parseSettingHost('registryDefault', settings.registryDefault),
    }),
  };
}

/** Whether images of this registry may be checked at all. */
export function mayCheck({ allow, insecure }: RegistryPolicy, registry: Host): boolean {
  return allow.size === 0 || allow.has(registry.text) || insecure.has(registry.text);
}

/** Whether the operator listed this host; otherwise a tenant chose it. */
export function isListed({ allow, insecure, realms }: RegistryPolicy, host: Host): boolean {
  const isRealm = [...realms.values()].flat().some(realm => realm.text === host.text);
  return allow.has(host.text) || insecure.has(host.text) || isRealm;
}

/** Whether the host may be connected to. One forbidden address refuses all of them. */
export function mayConnect({ insecure }: RegistryPolicy, host: Host, addresses: readonly string[]): boolean {
  const fit: readonly AddressClass[] = insecure.has(host.text) ? ['public', 'private'] : ['public'];
  return addresses.every(address => fit.includes(classifyAddress(address)));
}

/** The token server that a registry names, if it is allowed: with TLS, without user info, and known to belong to it. */
export function findRealm(policy: RegistryPolicy, registry: Host, text: string): { url: URL; host: Host } | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const host = parseHost(url.host);
  if (!host || url.username !== '' || url.password !== '') return undefined;

  const isPlain = url.protocol === 'http:' && policy.insecure.has(host.text);
  const belongs = [registry, ...(policy.realms.get(registry.text) ?? [])].some(known => isSameHost(known, host));
  return belongs && (isPlain || url.protocol === 'https:') ? { url, host } : undefined;
}

function parseSettingHost(key: string, text: string): Host {
  const host = parseHost(text);
  if (host) return host;
  throw new InvalidSettingFault(
    `setting "${key}": "${text}" is not a host: write a DNS name or an IP address, with an optional :port`,
  );
}

/**
 * The class of an IP address. `private` is a private network or loopback; `special` is every range that no registry can
 * have: link-local (the metadata services of clouds), multicast, unspecified, documentation, and addresses that embed
 * another address.
 */
export type AddressClass = 'public' | 'private' | 'special';

/** RFC 1918, RFC 6598 (shared by carriers), RFC 4193 (unique local), loopback. */
const privateNetworks = buildBlockList(
  '10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16',
  '::1/128 fc00::/7',
);

/** The rest of the IANA special-purpose registries. */
const specialNetworks = buildBlockList(
  '0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 ' +
    '198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
  '2001::/23 2001:db8::/32 2002::/16 3fff::/20',
);

/** The only IPv6 addresses that are handed out for hosts on the internet. */
const globalUnicast = buildBlockList('', '2000::/3');

const mappedNetwork = buildBlockList('', '::ffff:0:0/96');

/** Classifies an address. Text that is not an address is `special`, so it is never connected to. */
export function classifyAddress(address: string): AddressClass {
  const version = isIP(address);
  if (version === 0) return 'special';
  const family = version === 4 ? 'ipv4' : 'ipv6';
  // An IPv4-mapped IPv6 address would match the IPv4 networks, so it is refused first.
  if (family === 'ipv6' && mappedNetwork.check(address, family)) return 'special';
  if (privateNetworks.check(address, family)) return 'private';
  if (specialNetworks.check(address, family)) return 'special';
  return family === 'ipv4' || globalUnicast.check(address, family) ? 'public' : 'special';
}

/** Networks are separated by spaces. */
function buildBlockList(ipv4: string, ipv6: string): BlockList {
  const list = new BlockList();
  for (const [family, networks] of [['ipv4', ipv4] as const, ['ipv6', ipv6] as const]) {
    for (const network of networks.split(' ').filter(Boolean)) {
      const [base = '', bits] = network.split('/');
      list.addSubnet(base, Number(bits), family);
    }
  }
  return list;
}
