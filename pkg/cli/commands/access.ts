import { exitCode } from '../exit-code.js';
import { tenants, tokens } from '../kinds.js';
import { formatDocument, type OutputFormat } from '../print/text.js';
import type { Command } from '../session.js';
import type { TenantView } from '../views.js';

interface MintedToken {
  readonly id: string;
  /** The token itself. It is shown this once. */
  readonly token: string;
  readonly expiresAt: string;
}

/** Mints a single-use token with which one machine may enrol. */
export const createJoinToken: Command<{ readonly name?: string; readonly output: OutputFormat }> = async (
  session,
  input,
) => {
  const client = await session.connect();
  const body = input.name === undefined ? {} : { nodeName: input.name };
  const answer = await client.request<MintedToken>('POST', '/api/v1/nodes/join-tokens', { body });
  if (!answer.ok) return session.reportRejection(answer);

  const { terminal, ink } = session;
  if (input.output === 'json' || input.output === 'yaml') {
    terminal.out(await formatDocument(answer.value, input.output));
    return exitCode.ok;
  }
  // Standard output holds the token and nothing else, so that it can be piped to where it is needed.
  terminal.out(`${answer.value.token}\n`);
  terminal.err(`${ink.dim(`valid once, until ${answer.value.expiresAt}. On the machine that joins:`)}\n`);
  terminal.err(
    `  MOORING_JOIN_TOKEN=… moor agent --server ${client.server.origin}${input.name ? ` --name ${input.name}` : ''}\n`,
  );
  return exitCode.ok;
};

/** Creates a tenant. */
export const createTenant: Command<{ readonly name: string }> = async (session, { name }) => {
  const client = await session.connect('platform');
  const answer = await client.request<TenantView>('POST', tenants.path, { body: { name } });
  if (!answer.ok) return session.reportRejection(answer);
  session.terminal.out(`tenant/${answer.value.id} ${session.ink.green('created')}\n`);
  return exitCode.ok;
};

interface TokenInput {
  readonly role: string;
  readonly description: string | undefined;
  readonly expiresInSeconds: number | undefined;
  /** An administrator mints a token for this tenant; without it, for the tenant of the token that is used. */
  readonly tenant: string | undefined;
}

/** Mints a token for a tenant. */
export const createToken: Command<TokenInput> = async (session, { role, description, expiresInSeconds, tenant }) => {
  const client = await session.connect(tenant === undefined ? 'tenant' : 'platform');
  const body = {
    role,
    ...(description === undefined ? {} : { description }),
    ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
    ...(tenant === undefined ? {} : { tenant }),
  };
  const answer = await client.request<MintedToken>('POST', tokens.path, { body });
  if (!answer.ok) return session.reportRejection(answer);
  session.terminal.out(`${answer.value.token}\n`);
  session.terminal.err(
    `${session.ink.dim(`token/${answer.value.id}, shown this once, valid until ${answer.value.expiresAt}`)}\n`,
  );
  return exitCode.ok;
};

/** Revokes a token at once. */
export const revokeToken: Command<{ readonly id: string }> = async (session, { id }) => {
  const client = await session.connect();
  const answer = await client.request<unknown>('DELETE', `${tokens.path}/${encodeURIComponent(id)}`);
  if (!answer.ok) return session.reportRejection(answer);
  session.terminal.out(`token/${id} ${session.ink.green('revoked')}\n`);
  return exitCode.ok;
};
