import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { defaultQuotas } from '../../crds/kinds/index.js';
import { defaultRegions } from '../../crds/residency/index.js';
import { Fault } from '../fault/index.js';

type SettingValue = string | number | boolean | readonly string[];

const setting = <T extends SettingValue>(value: T, about: string) => ({ default: value, about });

/** Every setting. The type of the default is the type of the setting. */
export const settingsTable = {
  etcdEndpoints: setting<readonly string[]>(['http://127.0.0.1:2379'], 'addresses of the etcd members'),
  etcdPrefix: setting<string>('/mooring/', 'prefix of every key in etcd'),
  etcdQuotaBytes: setting<number>(
    2_147_483_648,
    'the --quota-backend-bytes of etcd: operators are warned from 80 % of it on, and from 95 % on tenants can only delete; 0: unknown, neither is done',
  ),
  etcdCompactEverySeconds: setting<number>(
    300,
    'seconds of history that etcd keeps at least; 0: never compacted by us',
  ),
  etcdCaFile: setting<string>('', 'file with the CA certificate of etcd, for https endpoints'),
  etcdCertFile: setting<string>('', 'file with the client certificate for etcd'),
  etcdKeyFile: setting<string>('', 'file with the key of the client certificate for etcd'),
  listen: setting<string>('127.0.0.1:7070', 'host:port that the API server listens on'),
  advertise: setting<string>('', 'URL of this API server for agents; default: from listen'),
  tlsCertFile: setting<string>('', 'file with the certificate of the API server; required off loopback'),
  tlsKeyFile: setting<string>('', 'file with the key of that certificate'),
  tlsCaFile: setting<string>('', 'file with the CA of that certificate, for agents to pin; empty: a public CA'),
  plainHttp: setting<boolean>(false, 'whether plain HTTP is answered beside TLS, on loopback only'),
  baseUrl: setting<string>('', 'URL that documentation links begin with; default: from listen'),
  keyFile: setting<string>('.mooring/keys', 'file of mode 0600 with the pepper of the token digests'),
  metricsListen: setting<string>('', 'host:port where the controllers serve metrics; empty: nowhere'),
  traceEndpoint: setting<string>(
    '',
    'URL of a collector that takes traces, OTLP over HTTP, such as http://127.0.0.1:4318; empty: nothing is traced',
  ),
  traceRatio: setting<number>(1, 'which part of the requests is traced when the caller does not say, from 0 to 1'),
  logLevel: setting<string>('info', 'lowest level that is logged: error, warn, info or debug'),
  logFormat: setting<string>('json', 'format of log lines: json or pretty'),
  maxReplicasPerDeployment: setting<number>(100, 'largest number of replicas of a deployment'),
  healthCheckRetriesFloor: setting<number>(3, 'smallest healthCheck.retries'),
  healthCheckTimeoutFloor: setting<string>('10s', 'smallest healthCheck.timeout'),
  reservedNames: setting<readonly string[]>(['etcd'], 'deployment names that tenants may not use'),
  reservedHostPorts: setting<readonly string[]>(
    [],
    'host ports that tenants may not use, because the platform listens there, as 7070 or 2379-2380',
  ),
  secretsDriver: setting<string>('embedded', 'where secrets are stored: embedded (encrypted, in etcd) or vault'),
  secretsKeyFile: setting<string>(
    '',
    'file of mode 0600 with the keys of the embedded driver; default: secret-keys beside keyFile',
  ),
  secretsNamespaces: setting<readonly string[]>(
    ['deployments', 'resources'],
    'namespaces of secrets that tenants may write and reference',
  ),
  vaultAddress: setting<string>('', 'URL of the Vault or OpenBao server, for secretsDriver vault'),
  vaultMount: setting<string>('mooring/{tenant}', 'mount of KV version 2 for a tenant; may contain {tenant}'),
  vaultNamespace: setting<string>('', 'Vault namespace of the mounts; may contain {tenant}; empty: none'),
  vaultLoginNamespace: setting<string>('', 'Vault namespace that the platform logs in to; empty: none'),
  vaultCaFile: setting<string>('', 'file with the CA certificate of the Vault server; empty: the public CAs'),
  vaultTokenFile: setting<string>('', 'file of mode 0600 with a token; empty: log in by AppRole'),
  vaultRoleIdFile: setting<string>('', 'file of mode 0600 with the role id of an AppRole'),
  vaultSecretIdFile: setting<string>('', 'file of mode 0600 with the secret id of an AppRole'),
  vaultAppRoleMount: setting<string>('approle', 'mount of the AppRole auth method'),
  vaultTimeoutMs: setting<number>(5000, 'timeout of one request to the Vault server'),
  registryCheck: setting<boolean>(true, 'whether an image must exist in its registry before a deployment is stored'),
  registryDefault: setting<string>('', 'registry of images whose reference names none; empty: they are not checked'),
  registryAllow: setting<readonly string[]>([], 'registries that image checks may contact; empty: every public one'),
  registryInsecure: setting<readonly string[]>(
    [],
    'registries that may be contacted without TLS and at private addresses',
  ),
  registryRealms: setting<readonly string[]>([], 'token servers of registries on other hosts, as registry=host'),
  registryLoginsFile: setting<string>(
    '',
    'file of mode 0600 with logins for tenants that have none of their own, as docker login writes it',
  ),
  registryCaFile: setting<string>('', 'file with CA certificates of registries, beside the public CAs'),
  regions: setting<readonly string[]>(
    defaultRegions.map(({ name, countries }) => `${name}=${countries.join('|')}`),
    'regions for placement.residency.region with their countries, as eu=DE|FR',
  ),
  residencyEnforcement: setting<boolean>(
    true,
    'whether residency is enforced; if not, replicas that require it stay unplaced',
  ),
  volumeManagement: setting<boolean>(
    true,
    'whether volumes are managed; if not, deployments that mount one are refused',
  ),
  volumeSyncSeconds: setting<number>(5, 'time after which a copy of a volume is brought up to date again'),
  quotas: setting<readonly string[]>(
    Object.entries(defaultQuotas).map(([kind, limit]) => `${kind}=${limit}`),
    'quotas of a tenant that has none of its own, as cpu=64; "unlimited" removes a default',
  ),
  maxBodyBytes: setting<number>(1048576, 'largest request body, in bytes'),
  maxBodyDepth: setting<number>(32, 'deepest nesting of a request body'),
  rateLimitPerSecond: setting<number>(200, 'requests per second of one tenant'),
  rateLimitBurst: setting<number>(400, 'burst of requests of one tenant'),
  openRatePerSecond: setting<number>(20, 'requests per second of one address to endpoints without a token'),
  openRateBurst: setting<number>(100, 'burst of requests of one address to endpoints without a token'),
  openMaxBodyBytes: setting<number>(
    16384,
    'largest request body of endpoints without a token and of enrolment, in bytes',
  ),
  requestsPerServer: setting<number>(160, 'requests of tenants under way at the same time; 0: no limit'),
  requestsPerTenant: setting<number>(120, 'requests of one tenant under way at the same time; 0: no limit'),
  requestsPerToken: setting<number>(100, 'requests of one token under way at the same time; 0: no limit'),
  requestsPerAddress: setting<number>(160, 'requests of tenants from one address under way at once; 0: no limit'),
  streamsPerServer: setting<number>(5000, 'watches and logs open at the same time; 0: no limit'),
  streamsPerTenant: setting<number>(500, 'watches and logs of one tenant open at the same time; 0: no limit'),
  streamsPerToken: setting<number>(100, 'watches and logs of one token open at the same time; 0: no limit'),
  streamsPerAddress: setting<number>(1000, 'watches and logs from one address open at the same time; 0: no limit'),
  connectionsPerServer: setting<number>(10000, 'connections open at the same time; 0: no limit'),
  connectionsPerAddress: setting<number>(2000, 'connections from one address open at the same time; 0: no limit'),
  nodeFailedAfterSeconds: setting<number>(30, 'time without a heartbeat after which a node counts as failed'),
  nodeGraceSeconds: setting<number>(60, 'time after a node has failed until its replicas are started elsewhere'),
  nodeName: setting<string>(
    '',
    'name of the node that this process of the control plane runs on; empty: the name of the machine',
  ),
  rolloutSettleSeconds: setting<number>(
    3,
    'time a container without a health check must run until a rollout counts on it',
  ),
  scheduleDeadlineSeconds: setting<number>(86400, 'how late a run of a job with a schedule may still begin'),
  heartbeatSeconds: setting<number>(5, 'interval between two heartbeats of an agent'),
  leaderLeaseSeconds: setting<number>(9, 'lease of a leader: time until a loop of a dead leader is taken over'),
  eventRetentionDays: setting<number>(7, 'how long events are kept, in days'),
  eventsPerTenant: setting<number>(10000, 'events of one tenant that are kept; the oldest are deleted first'),
  archivesOfDeleted: setting<number>(
    10000,
    'configurations of deleted deployments that are kept for one tenant; those of the longest deleted go first, and beyond 1000 also when all have more than 64 MiB',
  ),
  tailBuffer: setting<number>(10000, 'changes kept in memory for watches that resume'),
  defaultCpuLimit: setting<string>(
    '',
    'CPU limit of containers whose deployment names none, such as 500m; empty: none',
  ),
  defaultMemoryLimit: setting<string>(
    '',
    'memory limit of containers whose deployment names none, such as 512Mi; empty: none',
  ),
  defaultMemoryLimitPercent: setting<number>(
    0,
    'memory limit of containers that request memory and name no limit, in percent of the request, such as 150; 0: none',
  ),
  defaultUser: setting<string>(
    '',
    "user of containers whose deployment names none, such as 1000:1000; empty: the image's own",
  ),
  defaultReadOnlyRootFilesystem: setting<boolean>(
    false,
    'whether the root file system is read-only unless the deployment says otherwise',
  ),
  stopGraceSeconds: setting<number>(10, 'time a container has between SIGTERM and SIGKILL'),
} as const;

type SettingKey = keyof typeof settingsTable;
export type Settings = { readonly [Key in SettingKey]: (typeof settingsTable)[Key]['default'] };

/** The source of a value. */
type SettingOrigin = 'default' | 'file' | 'environment' | 'flag';

/** Reads all settings. Unknown keys and values of the wrong type are faults, not warnings. */
export function loadSettings(source: {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly file?: string | undefined;
}): { readonly settings: Settings; readonly origins: Readonly<Record<SettingKey, SettingOrigin>> } {
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

/** Settings as environment variables, for a process that is started. */
export function toEnvironment(settings: Partial<Settings>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [toEnvironmentVariable(key), String(value)]),
  );
}

/** `maxBodyBytes` → `--max-body-bytes`. */
export function toFlag(key: string): string {
  return `--${key.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
}

function readFile(path: string): Record<string, unknown> {
  const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml'); // takes a tenth of a program's start: for those that have a file
  const document: unknown = parse(readFileSync(path, 'utf8'));
  if (document === null) return {};
  if (typeof document !== 'object' || Array.isArray(document)) {
    throw new InvalidSettingFault(`${path}: must be a map of settings`);
  }
  return document as Record<string, unknown>;
}

/** Converts a value to the type of the setting's default. */
function coerce(key: string, raw: unknown, fallback: SettingValue, origin: SettingOrigin): SettingValue {
  const refuse = (wanted: string) =>
    new InvalidSettingFault(`setting "${key}" from ${origin}: must be ${wanted}`, { cause: raw });
  switch (typeof fallback) {
    case 'object': {
      const list: unknown = typeof raw === 'string' ? raw.split(',').filter(Boolean) : raw;
      if (Array.isArray(list) && list.every(item => typeof item === 'string')) return list;
      throw refuse('a list of strings');
    }
    case 'number': {
      const number = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
      if (typeof number === 'number' && Number.isFinite(number)) return number;
      throw refuse('a number');
    }
    case 'boolean':
      if (raw === true || raw === 'true') return true;
      if (raw === false || raw === 'false') return false;
      throw refuse('true or false');
    default:
      if (typeof raw === 'string') return raw;
      throw refuse('a string');
  }
}

/** A setting or an argument cannot be used. The message names it and its source. */
export class InvalidSettingFault extends Fault {
  readonly retriable = false;
}
