import { exitCode } from '../../terminal/index.js';
import { tenants, tokens } from '../kinds.js';
import { formatDocument, type OutputFormat } from '../print/text.js';
import type { Command } from '../session.js';
import type { StoredTenant } from '../../../crds/tenant/index.js';

interface MintedToken {
  readonly id: string;
  /** The token itself, shown only in this answer. */
  readonly token: string;
  readonly expiresAt: string;
  /** Of the authority that vouches for the server, where agents must pin one. */
  readonly caFingerprint?: string;
}

interface JoinTokenInput {
  readonly name?: string;
  readonly output: OutputFormat;
}

/** Mints a single-use token with which one machine may enrol. */
export const createJoinToken: Command<JoinTokenInput> = async (session, { name, output }) => {
  const client = await session.connect();
  const body = { nodeName: name };
  const answer = await client.request<MintedToken>('POST', '/api/v1/nodes/join-tokens', { body });
  if (!answer.ok) return session.reportRejection(answer);

  const { terminal, ink } = session;
  if (output === 'json' || output === 'yaml') {
    terminal.out(await formatDocument(answer.value, output));
    return exitCode.ok;
  }
  // Standard output holds the token and nothing else, so that it can be piped.
  const { token, caFingerprint } = answer.value;
  terminal.out(`${token}${caFingerprint === undefined ? '' : `@${caFingerprint}`}\n`);
  terminal.err(`${ink.dim(`valid once, until ${answer.value.expiresAt}. On the machine that joins:`)}\n`);
  const server = caFingerprint === undefined ? client.server.origin : `https://${client.server.host}`;
  const agent = `moor agent --server ${server}${name ? ` --name ${name}` : ''}`;
  terminal.err(`  MOORING_JOIN_TOKEN=… ${agent}\n`);
  return exitCode.ok;
};

/** Creates a tenant. */
export const createTenant: Command<{ readonly name: string }> = async (session, { name }) => {
  const client = await session.connect('platform');
  const answer = await client.request<StoredTenant>('POST', tenants.path, { body: { name } });
  if (!answer.ok) return session.reportRejection(answer);
  session.terminal.out(`tenant/${answer.value.id} ${session.ink.green('created')}\n`);
  return exitCode.ok;
};

interface TokenInput {
  readonly role: string;
  readonly description?: string;
  /** In milliseconds. */
  readonly expires?: number;
  /** An administrator mints a token for this tenant; undefined: for the tenant of the token that is used. */
  readonly tenant: string | undefined;
}

/** Mints a token for a tenant. */
export const createToken: Command<TokenInput> = async (session, { expires, ...input }) => {
  const client = await session.connect(input.tenant === undefined ? 'tenant' : 'platform');
  const body = { ...input, expiresInSeconds: expires === undefined ? undefined : Math.round(expires / 1000) };
  const answer = await client.request<MintedToken>('POST', tokens.path, { body });
  if (!answer.ok) return session.reportRejection(answer);
  const { id, token, expiresAt } = answer.value;
  session.terminal.out(`${token}\n`);
  session.terminal.err(`${session.ink.dim(`token/${id}, shown this once, valid until ${expiresAt}`)}\n`);
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
