import { resolve } from 'node:path';

import { parseToken } from '../../auth/index.js';
import { type ApiAnswer, Client } from '../../client/index.js';
import {
  checkServer,
  type ConnectionFlags,
  findTokenVariable,
  readFile,
  checkContextName,
  type Context,
  type Contexts,
  findContextsFile,
  readContexts,
  writeContexts,
  exitCode,
  UsageFault,
  type Terminal,
} from '../../terminal/index.js';
import { tenants } from '../kinds.js';
import { stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import type { StoredTenant } from '../../../crds/tenant/index.js';

/** The server's answer about the token that asks. */
interface CallerView {
  readonly kind: string;
  readonly role?: string;
  readonly expiresAt?: string;
}

/** Asks the server about a token, and keeps it as a context, which becomes the current one. Nothing is kept that the server refuses. */
export const login: Command<ConnectionFlags> = async (session, flags) => {
  const { terminal, ink } = session;
  const { environment } = terminal;
  const contexts = await readContexts(environment);
  const { name, server, before } = chooseTarget(flags, contexts, environment);
  const caFile = flags.caFile ?? before?.caFile ?? environment['MOORING_CA_FILE'];
  const ca = caFile === undefined ? undefined : readFile(caFile);
  const { token, isAdministrator } = await readToken(terminal, flags, server);
  const tenant = flags.tenant ?? (isAdministrator ? before?.tenant : undefined);

  const { clock, random } = terminal;
  const client = new Client({ server, token, tenant, ca, clock, random });
  try {
    const caller = await client.request<CallerView>('GET', '/api/v1/tokens/self');
    if (!caller.ok) return session.reportRejection(caller);
    const owner = await fetchTenant(client, isAdministrator && tenant === undefined);
    if (!owner.ok) return session.reportRejection(owner);

    const { role } = caller.value;
    const context: Context = {
      server,
      token,
      ...(role !== undefined && { role }),
      ...(caFile !== undefined && { caFile: resolve(caFile) }),
      ...(tenant !== undefined && { tenant }),
    };
    const latest = await readContexts(environment); // another command may have written it meanwhile
    const chosen = name ?? proposeName(owner.value?.name ?? 'admin', context, latest);
    refuseOther(chosen, server, latest);
    await writeContexts(environment, { current: chosen, known: { ...latest.known, [chosen]: context } });
    const who = isAdministrator ? 'administrator of the platform' : stripControls(role ?? 'holder of a token');
    const whose = owner.value
      ? `${isAdministrator ? ', acting for' : ' of'} tenant ${stripControls(owner.value.name)}`
      : '';
    const until = caller.value.expiresAt === undefined ? '' : `, until ${stripControls(caller.value.expiresAt)}`;
    terminal.out(`${ink.green('logged in')} to ${server} as ${who}${whose}${until}\n`);
    terminal.out(`context ${ink.bold(chosen)} is current: ${findContextsFile(environment)}\n`);
    warnAboutEnvironment(session);
    return exitCode.ok;
  } finally {
    client.close();
  }
};

interface Target {
  /** Undefined: named after the tenant. */
  readonly name: string | undefined;
  readonly server: string;
  /** The context that is signed in to again. */
  readonly before: Context | undefined;
}

/** Where to sign in to: the server that is named, or that of the context that is named or current. */
function chooseTarget(flags: ConnectionFlags, contexts: Contexts, environment: Terminal['environment']): Target {
  const asked = flags.server ?? (flags.context === undefined ? environment['MOORING_SERVER'] : undefined);
  const name = flags.context ?? (asked === undefined ? environment['MOORING_CONTEXT'] || contexts.current : undefined);
  if (name !== undefined) checkContextName(name);
  const before = name !== undefined && Object.hasOwn(contexts.known, name) ? contexts.known[name] : undefined;
  const address = asked ?? before?.server ?? environment['MOORING_SERVER'];
  if (address === undefined)
    throw new UsageFault('no server is known. Name one: moor login --server https://moor.example.com');
  const server = checkServer(address);
  const { protocol, hostname, host } = new URL(server);
  if (protocol === 'http:' && !LOOPBACK.test(hostname))
    throw new UsageFault(
      `${server} is not encrypted: others on the network path could read the token. Sign in at https://${host}, with --ca-file where its authority is your own, or through a tunnel at 127.0.0.1.`,
    );
  if (name !== undefined) refuseOther(name, server, contexts);
  return { name, server, before };
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Throws where the context of this name is for another server. */
function refuseOther(name: string, server: string, { known }: Contexts): void {
  if (!Object.hasOwn(known, name) || checkServer(known[name]!.server) === server) return;
  throw new UsageFault(
    `context "${name}" is for ${known[name]!.server}. Choose another name with --context, or delete it first.`,
  );
}

async function readToken(
  terminal: Terminal,
  { tokenFile }: ConnectionFlags,
  server: string,
): Promise<{ readonly token: string; readonly isAdministrator: boolean }> {
  const given =
    tokenFile === undefined
      ? ((await terminal.askSecret(`Token for ${server}: `)) ?? (await terminal.readInput()))
      : readFile(tokenFile);
  const token = given.trim();
  if (token === '')
    throw new UsageFault('no token was given. Type it, pipe it in, or name its file with --token-file.');
  const parsed = parseToken(token);
  if (!parsed) throw new UsageFault('this is no token of Mooring: check that it was copied whole.');
  if (parsed.kind !== 'tenant' && parsed.kind !== 'admin')
    throw new UsageFault(`this is a ${parsed.kind} token, for machines. "moor tokens create" mints one for people.`);
  return { token, isAdministrator: parsed.kind === 'admin' };
}

async function fetchTenant(client: Client, isPlatform: boolean): Promise<ApiAnswer<StoredTenant | undefined>> {
  if (isPlatform) return { ok: true, status: 200, value: undefined };
  return client.request<StoredTenant>('GET', `${tenants.path}/self`);
}

/** The name of the tenant; with the right or the server where a context of that name is of another one. */
function proposeName(owner: string, context: Context, { known }: Contexts): string {
  const isHere = (name: string) => Object.hasOwn(known, name) && checkServer(known[name]!.server) === context.server;
  const isFree = (name: string) =>
    !Object.hasOwn(known, name) || (isHere(name) && toRight(known[name]!) === toRight(context));
  const plain = toName(owner);
  const [elsewhere, other] = [`@${new URL(context.server).host}`, `-${toRight(context)}`];
  const endings = isHere(plain) ? [other, `${other}${elsewhere}`] : [elsewhere, `${other}${elsewhere}`];
  const name = [plain, ...endings.map(ending => toName(`${plain}${ending}`))].find(isFree);
  if (name === undefined) throw new UsageFault(`there is a context "${plain}" already. Name this one with --context.`);
  checkContextName(name);
  return name;
}

/** As what a context speaks: two of the same right may take each other's place. */
function toRight({ token = '', role }: Context): string {
  return parseToken(token)?.kind === 'admin' ? 'platform' : (role ?? 'unknown');
}

function toName(text: string): string {
  return text
    .replaceAll(/[^\w.@-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 63);
}

/** What the environment names is used before any context. */
export function warnAboutEnvironment({ terminal, ink }: Session): void {
  const { environment } = terminal;
  const warn = (text: string) => terminal.err(`${ink.yellow('warning')}: ${text}\n`);
  const first = ['MOORING_SERVER', 'MOORING_CONTEXT'].find(name => environment[name]);
  if (first !== undefined) warn(`${first} of the environment is used before the current context`);
  const variable = findTokenVariable(environment);
  if (variable !== undefined && first !== 'MOORING_SERVER')
    warn(`${variable} is set without MOORING_SERVER: commands that use a context are refused`);
}
