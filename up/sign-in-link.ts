import { Client } from '../pkg/client/index.js';
import type { Development } from './home/home.js';
import { nameMoor } from './home/wording.js';

/** The address that signs a browser in once, within ten minutes; undefined where the server gives none. */
export async function createSignInLink({
  server,
  tokens,
}: Pick<Development, 'server' | 'tokens'>): Promise<string | undefined> {
  const client = new Client({ server, token: tokens.tenant, timeoutMs: 5_000 });
  try {
    const answer = await client.request<{ readonly code: string }>('POST', '/api/v1/tokens/sign-in-codes');
    // Behind "#": a browser sends it to no server, and the page takes it out of the address.
    return answer.ok ? `${server}/#/sign-in/${answer.value.code}` : undefined;
  } catch {
    return undefined;
  } finally {
    client.close();
  }
}

/** The lines about the browser, for those who have just started everything; `renewal` says how to come by a new link. */
export async function describeBrowser(development: Development | undefined, renewal?: string): Promise<string> {
  const link = development && (await createSignInLink(development));
  if (link === undefined) return `${development?.server ?? ''}/ (sign in with tokens.tenant of the file below)`;
  return `${link}\n           signs you in once, within ten minutes; ${renewal ?? `"${nameMoor(process.env)} up" prints a new link`}`;
}
