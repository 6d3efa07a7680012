import type { RegistryCredentials } from '../registry/index.js';
import { parseCredentialPath } from './credential-path.js';
import type { SecretStore } from './secret-store.js';

/** The namespace of credentials for registries. */
export const REGISTRIES = 'registries';

/**
 * The tenants' own credentials for registries, out of their secrets.
 *
 * The one for `registry.example.com:5000` is at `registries/registry-example-com-5000`: the host with a hyphen for all that
 * a label cannot hold. Two hosts can share a label, so the document names its `host`, beside `username` and `password`;
 * what is meant for another host is never used. A path that the platform may not touch holds nothing for it.
 */
export function createRegistryCredentials(store: SecretStore): RegistryCredentials {
  return {
    async credentialsFor(tenant, host) {
      const path = parseCredentialPath(tenant, `${REGISTRIES}/${toRegistryLabel(host)}`);
      const reading = path && (await store.read(path));
      if (reading?.kind !== 'found') return { kind: 'none' };

      const { document } = reading;
      const [username, password] = [document.get('username')?.reveal(), document.get('password')?.reveal()];
      const isMeant = document.get('host')?.reveal().toLowerCase() === host;
      if (!isMeant || username === undefined || password === undefined) return { kind: 'none' };
      return { kind: 'found', credential: { username, password } };
    },
  };
}

/** The label under which a tenant keeps the credential for a registry, `name[:port]`. */
export function toRegistryLabel(host: string): string {
  return host
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
