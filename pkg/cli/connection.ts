import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { Client } from '../client/index.js';
import { UsageFault } from './exit-code.js';
import { findDevelopmentFile, type Terminal } from './terminal.js';

/** Flags that every command takes. */
export interface ConnectionFlags {
  readonly server?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly tenant?: string;
}

/** Whose token a command needs: the tenant's own, or the platform administrator's. */
export type TokenScope = 'tenant' | 'platform';

/** The server to connect to, and the token to use. `origin` says which source named the server. */
export interface Connection {
  readonly server: string;
  readonly origin: 'flag' | 'environment' | 'config' | 'development';
  readonly token: string | undefined;
  readonly caFile: string | undefined;
  readonly tenant: string | undefined;
}

/**
 * Finds the server and the token: flags, then environment, then the configuration file, then the development server of
 * this clone.
 *
 * A token belongs to the server it was configured for: the token of a file is never sent to a server that the file does not
 * name.
 */
export async function findConnection(
  flags: ConnectionFlags,
  { environment }: Terminal,
  scope: TokenScope = 'tenant',
): Promise<Connection> {
  const files = [await readConfig(environment), readDevelopment(environment)].filter(file => file !== undefined);
  const named = flags.server ?? environment['MOORING_SERVER'];
  const server = named === undefined ? files[0]?.server : checkServer(named);
  if (server === undefined) {
    throw new UsageFault(
      'no server is known. Start one here with "moor up", or name one with --server or MOORING_SERVER.',
    );
  }
  const file = files.find(each => each.server === server);
  return {
    server,
    origin: flags.server !== undefined ? 'flag' : named !== undefined ? 'environment' : file!.origin,
    token: readExplicitToken(flags, environment) ?? file?.tokens[scope] ?? file?.tokens.tenant,
    caFile: flags.caFile ?? environment['MOORING_CA_FILE'] ?? file?.caFile,
    tenant: flags.tenant,
  };
}

/** Creates a client for the connection that `findConnection` returns. */
export async function connect(flags: ConnectionFlags, terminal: Terminal, scope?: TokenScope): Promise<Client> {
  const { server, token, caFile, tenant } = await findConnection(flags, terminal, scope);
  const { clock, random } = terminal;
  return new Client({ server, token, tenant, clock, random, ca: caFile === undefined ? undefined : readFile(caFile) });
}

/** A file that names a server and holds tokens for it. */
interface ConnectionFile {
  readonly origin: 'config' | 'development';
  readonly server: string;
  readonly tokens: Readonly<Partial<Record<TokenScope, string>>>;
  readonly caFile?: string | undefined;
}

function readExplicitToken(flags: ConnectionFlags, environment: Terminal['environment']): string | undefined {
  if (flags.tokenFile !== undefined) return readFile(flags.tokenFile).trim();
  if (environment['MOORING_TOKEN']) return environment['MOORING_TOKEN'].trim();
  const path = environment['MOORING_TOKEN_FILE'];
  return path ? readFile(path).trim() : undefined;
}

function checkServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.origin;
  throw new UsageFault(`"${text}" is not the address of a server. Write it as http://127.0.0.1:7070.`);
}

async function readConfig(environment: Terminal['environment']): Promise<ConnectionFile | undefined> {
  const folder = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] ?? homedir(), '.config');
  const path = join(folder, 'mooring', 'config.yaml');
  const text = readIfPresent(path);
  if (text === undefined) return undefined;

  const { parse } = await import('yaml');
  const document = (parse(text) ?? {}) as Readonly<Record<string, unknown>>;
  const readString = (name: string) => (typeof document[name] === 'string' ? document[name] : undefined);
  const server = readString('server');
  if (server === undefined) throw new UsageFault(`${path}: must name a server.`);
  const tokenFile = readString('tokenFile');
  const token = readString('token') ?? (tokenFile === undefined ? undefined : readFile(tokenFile).trim());
  return {
    origin: 'config',
    server: checkServer(server),
    tokens: token === undefined ? {} : { tenant: token },
    caFile: readString('caFile'),
  };
}

function readDevelopment(environment: Terminal['environment']): ConnectionFile | undefined {
  const path = findDevelopmentFile(environment);
  const text = readIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return { ...(JSON.parse(text) as ConnectionFile), origin: 'development' };
  } catch {
    // What the parser says may quote a token.
    throw new UsageFault(`${path} is damaged: run "moor down" and "moor up", which write it anew.`);
  }
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageFault(`${path} cannot be read: ${(thrown as Error).message}`, { cause: thrown });
  }
}

function readFile(path: string): string {
  const text = readIfPresent(path);
  if (text === undefined) throw new UsageFault(`there is no file ${path}.`);
  return text;
}
