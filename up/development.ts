import { readJson } from './json-file.js';
import { PartFault } from './faults.js';

/** What `dev.json` says: where the development server is, and with which tokens to speak to it. */
export interface Development {
  readonly server: string;
  readonly tokens: { readonly tenant: string; readonly platform: string };
}

/** Reads the tokens that the server made when it first started. */
export function developmentOf(server: string, tokensFile: string): Development {
  const tokens = readJson<Readonly<Record<string, string>>>(tokensFile);
  const { tenant, admin } = { tenant: tokens?.['tenantToken'], admin: tokens?.['adminToken'] };
  if (tenant === undefined || admin === undefined) throw new PartFault(`${tokensFile} holds no tokens`);
  return { server, tokens: { tenant, platform: admin } };
}
