import { Client } from '../client/index.js';
import { type Context, DEVELOPMENT, getContext, readContexts, readIfPresent } from './contexts.js';
import { UsageFault } from './exit-code.js';
import { findDevelopmentFile, type Terminal } from './terminal.js';

/** Flags that every command takes. */
export interface ConnectionFlags {
  readonly server?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly tenant?: string;
  readonly context?: string;
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
 * Finds the server and the token: flags, then environment, then the current context of the configuration file, then the
 * development server of this clone.
 *
 * A token belongs to the server it was configured for: the token of a file is never sent to a server that the file does not
 * name, and that of the environment is never sent to the server of a context.
 */
export async function findConnection(
  flags: ConnectionFlags,
  { environment }: Terminal,
  scope: TokenScope = 'tenant',
): Promise<Connection> {
  if (flags.context !== undefined && flags.server !== undefined)
    throw new UsageFault('--context and --server exclude each other: a context names its server.');
  const named = flags.context === undefined ? (flags.server ?? environment['MOORING_SERVER']) : undefined;
  const asked = named === undefined ? (flags.context ?? environment['MOORING_CONTEXT']) : undefined;
  const files = await findFiles(environment, asked);
  const server = named === undefined ? files[0]?.server : checkServer(named);
  if (server === undefined) {
    throw new UsageFault(
      'no server is known. Start one here with "moor up", sign in with "moor login --server URL", or name one with --server or MOORING_SERVER.',
    );
  }
  const file = files.find(each => each.server === server);
  const set = flags.context === undefined ? environment : {};
  const isContext = named === undefined && !files.some(each => each.server === server && each.origin === 'development');
  const variable = flags.tokenFile === undefined && isContext ? findTokenVariable(set) : undefined;
  if (variable !== undefined) {
    throw new UsageFault(
      `${variable} is set without MOORING_SERVER, so it is not sent to ${server} of a context. Name its server with MOORING_SERVER or --server, or unset it.`,
    );
  }
  const token = readExplicitToken(flags, set);
  return {
    server,
    origin: flags.server !== undefined ? 'flag' : named !== undefined ? 'environment' : file!.origin,
    token: token ?? file?.readToken(scope),
    caFile: flags.caFile ?? set['MOORING_CA_FILE'] ?? file?.caFile,
    tenant: flags.tenant ?? (token === undefined ? file?.tenant : undefined),
  };
}

/** The context of this name alone; without a name the current one, and the development server after it. */
async function findFiles(environment: Terminal['environment'], name = ''): Promise<readonly ServerFile[]> {
  const contexts = await readContexts(environment);
  const development = readDevelopment(environment);
  if (name === DEVELOPMENT) {
    if (development) return [development];
    throw new UsageFault('there is no development server on this machine. Start one with "moor up".');
  }
  const chosen = name || contexts.current;
  const current = chosen === undefined ? undefined : toServerFile(getContext(contexts, chosen));
  return (name ? [current] : [current, development]).filter(file => file !== undefined);
}

/** Creates a client for the connection that `findConnection` returns. */
export async function connect(flags: ConnectionFlags, terminal: Terminal, scope?: TokenScope): Promise<Client> {
  const { server, token, caFile, tenant } = await findConnection(flags, terminal, scope);
  const { clock, random } = terminal;
  return new Client({ server, token, tenant, clock, random, ca: caFile === undefined ? undefined : readFile(caFile) });
}

/** A server that a file names, with the tokens for it. */
interface ServerFile {
  readonly origin: 'config' | 'development';
  readonly server: string;
  readonly readToken: (scope: TokenScope) => string | undefined;
  readonly caFile?: string | undefined;
  readonly tenant?: string | undefined;
}

function toServerFile({ server, token, tokenFile, caFile, tenant }: Context): ServerFile {
  const readToken = () => token ?? (tokenFile === undefined ? undefined : readFile(tokenFile).trim());
  return { origin: 'config', server: checkServer(server), readToken, caFile, tenant };
}

/** The variable of the environment that gives a token. */
export function findTokenVariable(environment: Terminal['environment']): string | undefined {
  return ['MOORING_TOKEN', 'MOORING_TOKEN_FILE'].find(name => environment[name]);
}

function readExplicitToken(flags: ConnectionFlags, environment: Terminal['environment']): string | undefined {
  if (flags.tokenFile !== undefined) return readFile(flags.tokenFile).trim();
  if (environment['MOORING_TOKEN']) return environment['MOORING_TOKEN'].trim();
  const path = environment['MOORING_TOKEN_FILE'];
  return path ? readFile(path).trim() : undefined;
}

/** The address of a server that a person has typed. */
export function checkServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.origin;
  throw new UsageFault(`"${text}" is not the address of a server. Write it as http://127.0.0.1:7070.`);
}

function readDevelopment(environment: Terminal['environment']): ServerFile | undefined {
  const path = findDevelopmentFile(environment);
  const text = readIfPresent(path);
  if (text === undefined) return undefined;
  try {
    const { server, tokens = {}, caFile } = JSON.parse(text) as DevelopmentFile;
    return { origin: 'development', server, caFile, readToken: scope => tokens[scope] ?? tokens.tenant };
  } catch {
    // What the parser says may quote a token.
    throw new UsageFault(`${path} is damaged: run "moor down" and "moor up", which write it again.`);
  }
}

/** What `moor up` writes. */
interface DevelopmentFile {
  readonly server: string;
  readonly tokens?: Readonly<Partial<Record<TokenScope, string>>>;
  readonly caFile?: string;
}

/** The address of the server of `moor up` on this machine, where there is one. */
export function findDevelopmentServer(environment: Terminal['environment']): string | undefined {
  return readDevelopment(environment)?.server;
}

/** The text of a file that must exist. */
export function readFile(path: string): string {
  const text = readIfPresent(path);
  if (text === undefined) throw new UsageFault(`there is no file ${path}.`);
  return text;
}
