import { isSecretLabel, parseSecretPath } from '../../crds/grammar/index.js';
import { BrokenInvariantFault } from '../fault/index.js';

declare const checked: unique symbol;

/** The path of one credential of one tenant. Created here only, so every part has been checked. */
export interface CredentialPath {
  readonly tenant: string;
  readonly namespace: string;
  readonly label: string;
  readonly [checked]: true;
}

const TENANT = /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/;

/** The path of a tenant's credential, or undefined when `vaultPath` is not `<namespace>/<label>`. */
export function parseCredentialPath(tenant: string, vaultPath: string): CredentialPath | undefined {
  const parts = parseSecretPath(vaultPath);
  if (!parts || !TENANT.test(tenant)) return undefined;
  const { namespace, label } = parts;
  return isSecretLabel(namespace) && isSecretLabel(label)
    ? ({ tenant, namespace, label } as CredentialPath)
    : undefined;
}

/** The path of a tenant's credential, for a `vaultPath` that has already been validated. */
export function toCredentialPath(tenant: string, vaultPath: string): CredentialPath {
  const path = parseCredentialPath(tenant, vaultPath);
  if (!path) throw new BrokenInvariantFault('a malformed path reached the secrets store');
  return path;
}

/** `<namespace>/<label>`, as a tenant writes it. */
export function formatVaultPath({ namespace, label }: CredentialPath): string {
  return `${namespace}/${label}`;
}
