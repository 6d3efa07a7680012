import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { Client } from '../client/index.js';
import { UsageFault } from './exit-code.js';
import { developmentFile, type Terminal } from './terminal.js';

/** Flags that every command takes. */
export interface ConnectionFlags {
  readonly server?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly tenant?: string;
}

/** Whose token a command needs: the tenant's own, or the platform administrator's. */
export type TokenScope = 'tenant' | 'platform';

/** Where to connect, and as whom. `origin` says which source named the server. */
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
 * A token belongs to the server it was given with: one that a more distant source holds for another server is never
 * sent to this one.
 */
export async function findConnection(
  flags: ConnectionFlags,
  terminal: Terminal,
  speaker: TokenScope = 'tenant',
): Promise<Connection> {
  const { environment } = terminal;
  const given = tokenGiven(flags, environment);
  const common = { caFile: flags.caFile ?? environment['MOORING_CA_FILE'], tenant: flags.tenant };
  const named = flags.server ?? environment['MOORING_SERVER'];
  const config = await readConfig(environment);
  const development = readDevelopment(environment);

  if (named !== undefined) {
    const server = checkServer(named);
    const origin = flags.server === undefined ? 'environment' : 'flag';
    const known = [config, development].find(source => source?.server === server);
    return { server, origin, ...common, token: given ?? tokenFrom(known, speaker) };
  }
  if (config) return { ...common, ...config, origin: 'config', token: given ?? tokenFrom(config, speaker) };
  if (development) {
    return {
      ...common,
      server: development.server,
      origin: 'development',
      token: given ?? tokenFrom(development, speaker),
    };
  }
  throw new UsageFault(
    'no server is known. Start one here with "moor up", or name one with --server or MOORING_SERVER.',
  );
}

/** A client for what `findConnection` found. */
export async function connect(flags: ConnectionFlags, terminal: Terminal, speaker?: TokenScope): Promise<Client> {
  const { server, token, caFile, tenant } = await findConnection(flags, terminal, speaker);
  return new Client({
    server,
    clock: terminal.clock,
    random: terminal.random,
    ...(token === undefined ? {} : { token }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(caFile === undefined ? {} : { ca: readFile(caFile) }),
  });
}

interface Source {
  readonly server: string;
  readonly tokens: Readonly<Partial<Record<TokenScope, string>>>;
}

function tokenFrom(source: Source | undefined, speaker: TokenScope): string | undefined {
  return source?.tokens[speaker] ?? source?.tokens.tenant;
}

function tokenGiven(flags: ConnectionFlags, environment: Terminal['environment']): string | undefined {
  if (flags.tokenFile !== undefined) return readFile(flags.tokenFile).trim();
  if (environment['MOORING_TOKEN']) return environment['MOORING_TOKEN'].trim();
  const file = environment['MOORING_TOKEN_FILE'];
  return file ? readFile(file).trim() : undefined;
}

function checkServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.origin;
  throw new UsageFault(`"${text}" is not the address of a server. Write it as http://127.0.0.1:7070.`);
}

async function readConfig(environment: Terminal['environment']): Promise<(Source & { caFile?: string }) | undefined> {
  const folder = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] ?? homedir(), '.config');
  const path = join(folder, 'mooring', 'config.yaml');
  const text = readIfPresent(path);
  if (text === undefined) return undefined;

  const { parse } = await import('yaml');
  const document = parse(text) as Readonly<Record<string, unknown>> | null;
  const { server, token, tokenFile, caFile } = document ?? {};
  if (typeof server !== 'string') throw new UsageFault(`${path}: must name a server.`);
  const held =
    typeof token === 'string' ? token : typeof tokenFile === 'string' ? readFile(tokenFile).trim() : undefined;
  return {
    server: checkServer(server),
    tokens: held === undefined ? {} : { tenant: held },
    ...(typeof caFile === 'string' ? { caFile } : {}),
  };
}

function readDevelopment(environment: Terminal['environment']): Source | undefined {
  const text = readIfPresent(developmentFile(environment));
  return text === undefined ? undefined : (JSON.parse(text) as Source);
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
