import type { DevelopmentAccess } from '../api/index.js';
import { Client } from '../pkg/client/index.js';
import { PartFault } from './faults.js';
import type { Home } from './home.js';
import { readJson } from './json-file.js';
import type { Facts } from './part.js';

/** What `dev.json` says: where the development server is, and with which tokens to speak to it. */
export interface Development {
  readonly server: string;
  readonly tenant: { readonly id: string; readonly name: string };
  readonly tokens: { readonly tenant: string; readonly platform: string };
}

/** What commands on this machine are told of a server and of its first tokens. */
export function developmentOf(server: string, { tenant, tenantToken, adminToken }: DevelopmentAccess): Development {
  return { server, tenant, tokens: { tenant: tenantToken, platform: adminToken } };
}

/** Reads the tokens that the server made when it first started. */
export function readAccess(file: string): DevelopmentAccess {
  const access = readJson<DevelopmentAccess>(file);
  if (!access) throw new PartFault(`${file} holds no tokens`);
  return access;
}

/** Speaks to the server of this home as its development tenant. */
export function clientOf(home: Home, facts: Facts): Client {
  const development = home.development.read();
  if (!development) throw new PartFault('the tokens of the development server are missing');
  return new Client({ server: facts['server']!, token: development.tokens.tenant, timeoutMs: 5_000 });
}
