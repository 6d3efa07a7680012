import { readFileSync } from 'node:fs';

import { InvalidSettingFault } from '../config/index.js';
import type { RegistryCredentials } from './challenge.js';

export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

/** The form that `docker login` writes: `{"auths": {"registry.example.com:5000": {"auth": "<base64 of user:password>"}}}`. */
interface LoginFile {
  readonly auths?: Readonly<Record<string, { readonly auth?: string }>>;
}

/** The platform's own logins to registries, from a file. It is read at each use, so that it may be replaced at any time. */
export class RegistryLogins {
  readonly #path: string;

  /** Throws when the file cannot be used. An empty path is a file without logins. */
  constructor(path: string) {
    this.#path = path;
    this.#read();
  }

  /** `host` as image references name it: `registry.example.com:5000`. */
  find(host: string): RegistryLogin | undefined {
    const { auth = '' } = this.#read().auths?.[host] ?? {};
    const text = Buffer.from(auth, 'base64').toString('utf8');
    const colon = text.indexOf(':');
    return colon > 0 ? { username: text.slice(0, colon), password: text.slice(colon + 1) } : undefined;
  }

  #read(): LoginFile {
    if (this.#path === '') return {};
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8')) as LoginFile;
    } catch (thrown) {
      // The parser quotes what it could not read, which may be a password.
      const { code = 'it is not JSON' } = thrown as NodeJS.ErrnoException;
      throw new InvalidSettingFault(`setting "registryLoginsFile": ${this.#path} cannot be read: ${code}`);
    }
  }
}

/** A tenant's own credential for a registry, or else the platform's. */
export function addPlatformLogins(own: RegistryCredentials, logins: RegistryLogins): RegistryCredentials {
  return {
    async credentialsFor(tenant, host, signal) {
      const found = await own.credentialsFor(tenant, host, signal);
      const login = found.kind === 'none' ? logins.find(host) : undefined;
      return login ? { kind: 'found', credential: login } : found;
    },
  };
}
