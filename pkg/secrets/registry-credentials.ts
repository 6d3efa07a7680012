import { REGISTRIES, toRegistryLabel } from '../../crds/grammar/index.js';
import type { RegistryCredentials } from '../registry/index.js';
import { parseCredentialPath } from './credential-path.js';
import type { SecretStore } from './secret-store.js';

/**
 * Reads the tenants' own registry credentials from their secrets.
 *
 * The credential for `registry.example.com:5000` is at `registries/registry-example-com-5000`: the host, with a hyphen for
 * every character that a label cannot contain. Two hosts can share a label, so the document names its `host` besides
 * `username` and `password`, and a credential for another host is never used. A forbidden path counts as no credential.
 */
export function createRegistryCredentials(store: SecretStore): RegistryCredentials {
  return {
    async credentialsFor(tenant, host) {
      const path = parseCredentialPath(tenant, toRegistryPath(host));
      const reading = path && (await store.read(path));
      if (reading?.kind !== 'found') return { kind: 'none' };

      const { document, version } = reading;
      const [username, password] = [document.get('username')?.reveal(), document.get('password')?.reveal()];
      const isForHost = document.get('host')?.reveal().toLowerCase() === host;
      if (!isForHost || username === undefined || password === undefined) return { kind: 'none' };
      return { kind: 'found', credential: { username, password }, version };
    },
  };
}

/** Where the tenant's credential for a registry is looked for. */
export function toRegistryPath(host: string): string {
  return `${REGISTRIES}/${toRegistryLabel(host)}`;
}
