import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

import { findNearestName } from '../../crds/grammar/index.js';
import { UsageFault } from './exit-code.js';
import type { Terminal } from './terminal.js';

/** A server, and as whom to speak to it. */
export interface Context {
  readonly server: string;
  readonly token?: string;
  /** Where the token is instead. */
  readonly tokenFile?: string;
  readonly caFile?: string;
  /** The tenant that an administrator acts for. */
  readonly tenant?: string;
  /** What the token may do, as the server said at the login. */
  readonly role?: string;
}

/** The contexts of a user, and which of them is used where none is named. */
export interface Contexts {
  readonly current?: string;
  readonly known: Readonly<Record<string, Context>>;
}

/** The server of `moor up` on this machine: a context that stands in no file. */
export const DEVELOPMENT = 'development';

/** The context that a file of the first form holds: `server` and `token` without a name. */
const UNNAMED = 'default';

const REPAIR = 'fix it, or delete it and run "moor login"';

type Environment = Terminal['environment'];

export function findContextsFile(environment: Environment): string {
  const folder = environment['XDG_CONFIG_HOME'] || join(environment['HOME'] ?? homedir(), '.config');
  return join(folder, 'mooring', 'config.yaml');
}

/** Reads the contexts. None where there is no file. */
export async function readContexts(environment: Environment): Promise<Contexts> {
  const path = findContextsFile(environment);
  const text = readIfPresent(path);
  if (text === undefined) return { known: {} };

  const { server, contexts, current, ...rest } = await parseMap(path, text);
  const known: Record<string, Context> = {};
  if (server !== undefined) known[UNNAMED] = toContext(path, { server, ...rest });
  if (contexts !== undefined && !isMap(contexts))
    throw new UsageFault(`${path}: "contexts" must be a map of names to contexts: ${REPAIR}.`);
  for (const [name, given] of Object.entries(contexts ?? {})) known[name] = toContext(path, given);
  if (Object.keys(known).length === 0 && contexts === undefined)
    throw new UsageFault(`${path}: it names no server and no contexts: ${REPAIR}.`);
  const chosen = typeof current === 'string' ? current : server === undefined ? undefined : UNNAMED;
  return { known, ...(chosen !== undefined && { current: chosen }) };
}

/** The context that commands use where nothing else is named. Undefined where that is the development server. */
export async function findCurrentContext(environment: Environment): Promise<string | undefined> {
  const { current } = await readContexts(environment).catch((): Contexts => ({ known: {} }));
  const name = environment['MOORING_CONTEXT'] || current;
  return name === DEVELOPMENT ? undefined : name;
}

/** Writes the contexts, readable by their owner only. A reader sees the old ones or the new ones. */
export async function writeContexts(environment: Environment, { current, known }: Contexts): Promise<void> {
  const path = findContextsFile(environment);
  const { stringify } = await import('yaml');
  const text = `# Written by moor login and moor context. It holds tokens.\n${stringify({ current, contexts: known })}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    replaceFile(readIfPresent(path) === undefined ? path : realpathSync(path), text);
  } catch (thrown) {
    throw new UsageFault(`${path} cannot be written: ${(thrown as Error).message}`, { cause: thrown });
  }
}

function replaceFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}.new`;
  try {
    const file = openSync(draft, 'wx', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file); // or a power cut could leave an empty file under its name
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (thrown) {
    rmSync(draft, { force: true });
    throw thrown;
  }
}

/** The context of a name that a person has typed. */
export function getContext({ known }: Contexts, name: string): Context {
  if (Object.hasOwn(known, name)) return known[name]!;
  const names = Object.keys(known);
  const nearest = findNearestName(name, [...names, DEVELOPMENT]);
  const rest = names.length === 0 ? '"moor login" makes one.' : `The contexts are ${names.join(', ')}.`;
  throw new UsageFault(
    `there is no context "${name}".${nearest === undefined ? '' : ` Did you mean ${nearest}?`} ${rest}`,
  );
}

const NAME = /^[A-Za-z0-9][\w.@-]{0,62}$/;

/** Throws where a context cannot have this name. */
export function checkContextName(name: string): void {
  if (name === DEVELOPMENT)
    throw new UsageFault(`"${DEVELOPMENT}" is the server of "moor up" on this machine: choose another name.`);
  if (!NAME.test(name))
    throw new UsageFault(
      'a context is named by letters, digits, hyphens, dots, underscores and @, 63 at most, the first a letter or a digit.',
    );
}

function toContext(path: string, given: unknown): Context {
  const read = (name: keyof Context) => {
    const value = isMap(given) ? given[name] : undefined;
    return typeof value === 'string' ? { [name]: value } : {};
  };
  const { server } = read('server');
  if (server === undefined) throw new UsageFault(`${path}: a context names no "server": ${REPAIR}.`);
  return { server, ...read('token'), ...read('tokenFile'), ...read('caFile'), ...read('tenant'), ...read('role') };
}

async function parseMap(path: string, text: string): Promise<Readonly<Record<string, unknown>>> {
  const { parse } = await import('yaml');
  const read = () => {
    try {
      return parse(text, { logLevel: 'error' }) as unknown;
    } catch {
      // What the parser says may quote a token.
      throw new UsageFault(`${path} is no YAML: ${REPAIR}.`);
    }
  };
  const document = read() ?? {};
  if (!isMap(document)) throw new UsageFault(`${path}: it must be a map with "server" or "contexts": ${REPAIR}.`);
  return document;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageFault(`${path} cannot be read: ${(thrown as Error).message}`, { cause: thrown });
  }
}
