import { InvalidSettingFault, type Settings } from '../config/index.js';
import { type AddressClass, addressClass } from './address-class.js';
import { type Host, hostOfUrl, isSameHost, parseHost } from './host.js';

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
export function registryPolicy(settings: RegistrySettings): RegistryPolicy {
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
export function mayAsk({ allow, insecure }: RegistryPolicy, registry: Host): boolean {
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
  return addresses.every(address => fit.includes(addressClass(address)));
}

/** The token server that a registry names, if it may be one: with TLS, without user-info, and known to belong to it. */
export function realmOf(policy: RegistryPolicy, registry: Host, text: string): { url: URL; host: Host } | undefined {
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
