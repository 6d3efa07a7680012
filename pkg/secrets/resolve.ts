import type { UnresolvedReason } from '../../crds/delivery/index.js';
import { composeEnvironment } from './compose-environment.js';
import { type CredentialPath, formatVaultPath, toCredentialPath } from './credential-path.js';
import {
  SecretStoreLoginFault,
  SecretStoreSealedFault,
  SecretStoreUnavailableFault,
  UnreadableSecretFault,
} from './faults.js';
import type { Reading, SecretDocument, SecretStore } from './secret-store.js';
import type { Secret } from './secret.js';

export interface SecretReferences {
  readonly secrets: readonly { readonly name: string; readonly path: CredentialPath }[];
  /** Templates by the name of their variable. */
  readonly composed: Readonly<Record<string, string>>;
  /** Names of the constants in the same environment. */
  readonly constants: readonly string[];
}

/** Versions by vault path (`deployments/web-db`). A replica is stamped with them. */
export type SecretVersions = Readonly<Record<string, number>>;

/** A missing key, or a whole missing document when no key is named. */
export interface MissingReference {
  readonly path: string;
  readonly key?: string;
}

/** Why secrets cannot be resolved. Paths and names only, no value. */
export type UnresolvedSecrets =
  | { readonly kind: 'unavailable'; readonly because: 'sealed' | 'login' | 'unreachable' }
  | { readonly kind: 'forbidden'; readonly paths: readonly string[] }
  | { readonly kind: 'unreadable'; readonly paths: readonly string[] }
  | { readonly kind: 'missing'; readonly missing: readonly MissingReference[] }
  | { readonly kind: 'undeliverable'; readonly collisions: readonly string[]; readonly unusable: readonly string[] };

/** Whether all references resolve, and to which versions. */
export type Resolution = { readonly kind: 'resolved'; readonly versions: SecretVersions } | UnresolvedSecrets;

/** The environment of one container, or why it cannot be delivered. */
export type EnvironmentDelivery =
  | { readonly kind: 'ready'; readonly versions: SecretVersions; readonly environment: ReadonlyMap<string, Secret> }
  | UnresolvedSecrets;

export function collectReferences(
  tenant: string,
  workload: {
    readonly secrets?: readonly { readonly name: string; readonly vault_path: string }[];
    readonly composedSecrets?: Readonly<Record<string, string>>;
    readonly environment?: Readonly<Record<string, string>>;
  },
): SecretReferences {
  const { secrets = [], composedSecrets: composed = {}, environment = {} } = workload;
  return {
    secrets: secrets.map(({ name, vault_path }) => ({ name, path: toCredentialPath(tenant, vault_path) })),
    composed,
    constants: Object.keys(environment),
  };
}

/**
 * Checks whether everything that a workload refers to can be delivered, all or nothing. It does exactly what delivery
 * does and discards the values, so that delivery meets the same result. `versions` selects exactly those versions.
 */
export async function resolveSecrets(
  store: SecretStore,
  references: SecretReferences,
  versions: SecretVersions = {},
): Promise<Resolution> {
  const delivery = await deliver(store, references, versions);
  return delivery.kind === 'ready' ? { kind: 'resolved', versions: delivery.versions } : delivery;
}

export interface EnvironmentOptions {
  /** The versions that the replica was stamped with. */
  readonly versions: SecretVersions;
  /** Records the delivery of these versions. When it fails, nothing is delivered. */
  readonly audit: (versions: SecretVersions) => Promise<void>;
}

/** Reads the environment of one container. The audit record is written before a value is returned. */
export async function readEnvironment(
  store: SecretStore,
  references: SecretReferences,
  { versions, audit }: EnvironmentOptions,
): Promise<EnvironmentDelivery> {
  const delivery = await deliver(store, references, versions);
  if (delivery.kind === 'ready') await audit(delivery.versions);
  return delivery;
}

async function deliver(
  store: SecretStore,
  references: SecretReferences,
  wanted: SecretVersions,
): Promise<EnvironmentDelivery> {
  const paths = new Map(references.secrets.map(({ path }) => [formatVaultPath(path), path]));
  const readAll = [...paths].map(async ([text, path]) => {
    return { text, path, reading: await readVersion(store, path, wanted[text]) };
  });
  try {
    const readings = await Promise.all(readAll);
    return findFailure(readings) ?? composeDelivery(references, readings);
  } catch (thrown) {
    if (thrown instanceof SecretStoreUnavailableFault) return { kind: 'unavailable', because: toCause(thrown) };
    throw thrown;
  }
}

interface CredentialReading {
  readonly text: string;
  readonly path: CredentialPath;
  readonly reading: Reading | { readonly kind: 'unreadable' };
}

async function readVersion(store: SecretStore, path: CredentialPath, version?: number) {
  try {
    return await store.read(path, version);
  } catch (thrown) {
    if (thrown instanceof UnreadableSecretFault) return { kind: 'unreadable' } as const;
    throw thrown;
  }
}

/** The most severe failure, with every path that it concerns. */
function findFailure(readings: readonly CredentialReading[]): UnresolvedSecrets | undefined {
  const paths = (kind: string) => readings.filter(({ reading }) => reading.kind === kind).map(({ text }) => text);
  const [forbidden, unreadable, missing] = [paths('forbidden'), paths('unreadable'), paths('missing')];
  if (forbidden.length > 0) return { kind: 'forbidden', paths: forbidden };
  if (unreadable.length > 0) return { kind: 'unreadable', paths: unreadable };
  return missing.length > 0 ? { kind: 'missing', missing: missing.map(path => ({ path })) } : undefined;
}

function composeDelivery(
  { secrets, composed: templates, constants }: SecretReferences,
  readings: readonly CredentialReading[],
): EnvironmentDelivery {
  const documents = new Map<string, SecretDocument>();
  const versions: Record<string, number> = {};
  for (const { text, path, reading } of readings) {
    if (reading.kind !== 'found') continue;
    documents.set(path.label, reading.document);
    versions[text] = reading.version;
  }
  const entries = secrets.map(({ name, path }) => ({ name, label: path.label }));
  const composition = composeEnvironment(entries, templates, documents, constants);
  if (composition.kind === 'composed') return { kind: 'ready', versions, environment: composition.environment };
  const { missing, collisions, unusable } = composition;
  if (missing.length === 0) return { kind: 'undeliverable', collisions, unusable };
  const findPathText = (label: string) => readings.find(({ path }) => path.label === label)?.text ?? label;
  return { kind: 'missing', missing: missing.map(({ label, ...key }) => ({ path: findPathText(label), ...key })) };
}

function toCause(fault: SecretStoreUnavailableFault): 'sealed' | 'login' | 'unreachable' {
  if (fault instanceof SecretStoreSealedFault) return 'sealed';
  return fault instanceof SecretStoreLoginFault ? 'login' : 'unreachable';
}

/** Why an environment cannot be delivered, as users see it. */
export interface UnresolvedExplanation {
  readonly reason: UnresolvedReason;
  /** Human-readable. Paths and names only. */
  readonly message: string;
}

const UNAVAILABLE = {
  sealed: 'the secrets store is sealed: an operator must unseal it',
  login: 'the secrets store rejects the credentials of the platform: an operator must renew them',
  unreachable: 'the secrets store is unreachable',
} as const;

const REASONS: Readonly<Record<UnresolvedSecrets['kind'], UnresolvedReason>> = {
  unavailable: 'secret_store_unavailable',
  forbidden: 'secret_forbidden',
  unreadable: 'secret_unreadable',
  missing: 'secret_missing',
  undeliverable: 'secret_undeliverable',
};

export function explainUnresolved(unresolved: UnresolvedSecrets): UnresolvedExplanation {
  return { reason: REASONS[unresolved.kind], message: describeUnresolved(unresolved) };
}

function describeUnresolved(unresolved: UnresolvedSecrets): string {
  switch (unresolved.kind) {
    case 'unavailable':
      return UNAVAILABLE[unresolved.because];
    case 'forbidden':
      return `the policy of the secrets store does not grant the platform access to ${unresolved.paths.join(', ')}`;
    case 'unreadable':
      return `cannot read ${unresolved.paths.join(', ')}: the stored data is damaged, or sealed with a key that is not in the keyring`;
    case 'missing':
      return `not in the secrets store: ${unresolved.missing.map(formatReference).join(', ')}`;
    case 'undeliverable':
      return explainUndeliverable(unresolved.collisions, unresolved.unusable);
  }
}

function formatReference({ path, key }: MissingReference): string {
  return key === undefined ? path : `key ${key} of ${path}`;
}

function explainUndeliverable(collisions: readonly string[], unusable: readonly string[]): string {
  return [
    ...(collisions.length > 0 ? [`several variables have the same name: ${collisions.join(', ')}`] : []),
    ...(unusable.length > 0
      ? [`not usable as environment variables, because of their name, a NUL or their length: ${unusable.join(', ')}`]
      : []),
  ].join('; ');
}
