import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

import { defaultRegions, isCountry, type Region, type Regions } from '../../crds/residency/index.js';
import {
  defaultQuotas,
  mergeQuotas,
  parseQuota,
  type QuotaKind,
  quotaKinds,
  type TenantQuotas,
} from '../../crds/kinds/index.js';
import { Fault } from '../fault/index.js';

interface Setting<T> {
  readonly default: T;
  readonly about: string;
}

const setting = <T extends string | number | boolean | readonly string[]>(value: T, about: string): Setting<T> => ({
  default: value,
  about,
});

/** Every setting there is. The type of the default is the type of the setting. */
export const settingsTable = {
  etcdEndpoints: setting<readonly string[]>(['http://127.0.0.1:2379'], 'addresses of the etcd members'),
  etcdPrefix: setting<string>('/mooring/', 'where in etcd everything is kept'),
  etcdQuotaBytes: setting<number>(2_147_483_648, 'the --quota-backend-bytes of etcd, to warn before it is reached'),
  etcdCompactEverySeconds: setting<number>(300, 'how long history is kept in etcd before it is compacted'),
  etcdCaFile: setting<string>('', 'CA certificate of etcd, for https endpoints'),
  etcdCertFile: setting<string>('', 'client certificate for etcd'),
  etcdKeyFile: setting<string>('', 'key of the client certificate for etcd'),
  listen: setting<string>('127.0.0.1:7070', 'address the API server listens on'),
  advertise: setting<string>('', 'address of this API server for agents; default: where it listens'),
  tlsCertFile: setting<string>('', 'certificate of the API server; required off loopback'),
  tlsKeyFile: setting<string>('', 'key of that certificate'),
  baseUrl: setting<string>('', 'address that documentation links begin with; default: where the server listens'),
  keyFile: setting<string>('.mooring/keys', 'file of mode 0600 with the pepper of the token digests'),
  metricsListen: setting<string>('', 'address for the metrics of the controllers; empty: none'),
  logLevel: setting<string>('info', 'error, warn, info or debug'),
  logFormat: setting<string>('json', 'json or pretty'),
  maxReplicasPerDeployment: setting<number>(100, 'upper end of replicas'),
  healthCheckRetriesFloor: setting<number>(3, 'smallest healthCheck.retries'),
  healthCheckTimeoutFloor: setting<string>('10s', 'smallest healthCheck.timeout'),
  reservedNames: setting<readonly string[]>(['etcd'], 'deployment names that the platform keeps for itself'),
  secretsDriver: setting<string>('embedded', 'where credentials are kept: embedded (sealed, in etcd) or vault'),
  secretsKeyFile: setting<string>(
    '',
    'file of mode 0600 with the keys of the embedded driver; default: secret-keys beside keyFile',
  ),
  secretsNamespaces: setting<readonly string[]>(
    ['deployments', 'resources'],
    'namespaces of secrets that tenants may write and refer to',
  ),
  vaultAddress: setting<string>('', 'address of the Vault or OpenBao server, for secretsDriver vault'),
  vaultMount: setting<string>('mooring/{tenant}', 'KV version 2 mount of a tenant'),
  vaultNamespace: setting<string>('', 'Vault namespace of the mounts; may hold {tenant}; empty: none'),
  vaultLoginNamespace: setting<string>('', 'Vault namespace that the platform logs in to; empty: none'),
  vaultCaFile: setting<string>('', 'CA certificate of the Vault server, where it is not a public one'),
  vaultTokenFile: setting<string>('', 'file of mode 0600 with a token; empty: log in by AppRole'),
  vaultRoleIdFile: setting<string>('', 'file of mode 0600 with the role id of an AppRole'),
  vaultSecretIdFile: setting<string>('', 'file of mode 0600 with the secret id of an AppRole'),
  vaultAppRoleMount: setting<string>('approle', 'where AppRole is mounted'),
  vaultTimeoutMs: setting<number>(5000, 'how long one call to the Vault server may take'),
  registryCheck: setting<boolean>(true, 'whether registries are asked for images before a deployment is stored'),
  registryDefault: setting<string>('', 'registry of images whose reference names none; empty: they are not checked'),
  registryAllow: setting<readonly string[]>([], 'registries that may be asked for images; empty: every public one'),
  registryInsecure: setting<readonly string[]>([], 'registries that may be asked without TLS and at private addresses'),
  registryRealms: setting<readonly string[]>([], 'token servers of registries, as registry=host; its own needs none'),
  registryCaFile: setting<string>('', 'CA certificates of registries, beside the well-known ones'),
  regions: setting<readonly string[]>(
    defaultRegions.map(({ name, countries }) => `${name}=${countries.join('|')}`),
    'regions for placement.residency.region, each with the countries it covers',
  ),
  residencyEnforcement: setting<boolean>(
    true,
    'whether placement honours residency; without it, what asks for it waits',
  ),
  volumeManagement: setting<boolean>(true, 'whether volumes are managed; without it, what mounts one is refused'),
  quotas: setting<readonly string[]>(
    Object.entries(defaultQuotas).map(([kind, limit]) => `${kind}=${limit}`),
    'what one tenant may have, where its own record says nothing; "unlimited" lifts a default',
  ),
  maxBodyBytes: setting<number>(1048576, 'largest request body'),
  maxBodyDepth: setting<number>(32, 'deepest nesting of a request body'),
  rateLimitPerSecond: setting<number>(200, 'requests a second of one tenant'),
  rateLimitBurst: setting<number>(400, 'requests that a tenant may send at once'),
  nodeFailedAfterSeconds: setting<number>(30, 'silence after which a node counts as failed'),
  nodeGraceSeconds: setting<number>(
    60,
    'time a failed node has to come back before its replicas are started elsewhere',
  ),
  heartbeatSeconds: setting<number>(5, 'time between two heartbeats of an agent'),
  leaderLeaseSeconds: setting<number>(9, 'how long a dead leader keeps a loop from being taken over'),
  eventRetentionDays: setting<number>(7, 'how long events are kept'),
  tailBuffer: setting<number>(10000, 'changes kept in memory for watches that resume'),
  stopGraceSeconds: setting<number>(10, 'time a container has between SIGTERM and SIGKILL'),
} as const;

type Table = typeof settingsTable;
export type SettingKey = keyof Table;
export type Settings = { readonly [Key in SettingKey]: Table[Key]['default'] };

/** Where a value was read. */
export type SettingOrigin = 'default' | 'file' | 'environment' | 'flag';

export interface LoadedSettings {
  readonly settings: Settings;
  readonly origins: Readonly<Record<SettingKey, SettingOrigin>>;
}

/** Reads all settings. Unknown keys and values of the wrong type are faults, not warnings. */
export function loadSettings(source: {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly file?: string;
}): LoadedSettings {
  const path = source.file ?? source.environment['MOORING_CONFIG'];
  const file = path ? readFile(path) : {};
  for (const key of Object.keys(file)) {
    if (!(key in settingsTable)) throw new InvalidSettingFault(`${path}: there is no setting "${key}"`);
  }

  const settings: Record<string, unknown> = {};
  const origins: Record<string, SettingOrigin> = {};
  for (const [key, { default: fallback }] of Object.entries(settingsTable)) {
    const candidates: readonly [SettingOrigin, unknown][] = [
      ['flag', source.flags?.[key]],
      ['environment', source.environment[toEnvironmentVariable(key)]],
      ['file', file[key]],
    ];
    const [origin, raw] = candidates.find(([, value]) => value !== undefined) ?? ['default', fallback];
    settings[key] = coerce(key, raw, fallback, origin);
    origins[key] = origin;
  }
  return { settings: settings as unknown as Settings, origins: origins as Record<SettingKey, SettingOrigin> };
}

/** `maxBodyBytes` → `MOORING_MAX_BODY_BYTES`. */
export function toEnvironmentVariable(key: string): string {
  return `MOORING_${key.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()}`;
}

/** `maxBodyBytes` → `--max-body-bytes`. */
export function toFlag(key: string): string {
  return `--${key.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
}

function readFile(path: string): Record<string, unknown> {
  const document: unknown = parse(readFileSync(path, 'utf8'));
  if (document === null) return {};
  if (typeof document !== 'object' || Array.isArray(document)) {
    throw new InvalidSettingFault(`${path}: must be a map of settings`);
  }
  return document as Record<string, unknown>;
}

function coerce(key: string, raw: unknown, fallback: unknown, origin: SettingOrigin): unknown {
  const refuse = (wanted: string) =>
    new InvalidSettingFault(`setting "${key}" from ${origin}: must be ${wanted}`, { cause: raw });

  if (Array.isArray(fallback)) {
    const list = typeof raw === 'string' ? raw.split(',').filter(Boolean) : raw;
    if (Array.isArray(list) && list.every(item => typeof item === 'string')) return list;
    throw refuse('a list of strings');
  }
  if (typeof fallback === 'number') {
    const number = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
    if (typeof number === 'number' && Number.isFinite(number)) return number;
    throw refuse('a number');
  }
  if (typeof fallback === 'boolean') {
    if (raw === true || raw === 'true') return true;
    if (raw === false || raw === 'false') return false;
    throw refuse('true or false');
  }
  if (typeof raw === 'string') return raw;
  throw refuse('a string');
}

/** The configuration says something that cannot be used. Names the setting and where it was read. */
export class InvalidSettingFault extends Fault {
  readonly retriable = false;
}

const NO_LIMIT = 'unlimited';

/**
 * The quotas of a tenant whose own record sets none. Kinds that the setting leaves out keep their defaults. One that cannot
 * be read is a fault, not a quota without a limit.
 */
export function parseQuotaSettings({ quotas }: Pick<Settings, 'quotas'>): TenantQuotas {
  return mergeQuotas(defaultQuotas, Object.fromEntries(quotas.map(entryOf)));
}

function entryOf(text: string): [QuotaKind, number | null] {
  const [name = '', amount = ''] = text.split('=');
  const kind = quotaKinds.find(each => each === name);
  const limit = kind && (amount === NO_LIMIT ? null : parseQuota(kind, amount));
  if (kind && limit !== undefined) return [kind, limit];
  throw new InvalidSettingFault(
    `setting "quotas": "${text}" must be one of ${quotaKinds.join(', ')} and an amount or "${NO_LIMIT}", as cpu=64`,
  );
}

const ENTRY = /^([a-z][a-z0-9-]{0,62})=([A-Za-z|]+)$/;

/** What the settings declare about residency. A region that cannot be read is a fault, not a region without countries. */
export function parseRegionSettings({ regions, residencyEnforcement }: Settings): Regions {
  return { enforced: residencyEnforcement, declared: regions.map(regionOf) };
}

function regionOf(text: string): Region {
  const [, name, list] = ENTRY.exec(text) ?? [];
  const countries = list?.split('|') ?? [];
  if (name === undefined || !countries.every(isCountry)) {
    throw new InvalidSettingFault(`setting "regions": "${text}" must be a name and countries, as eu=DE|FR`);
  }
  return { name, countries: countries.map(country => country.toUpperCase()) };
}
