import {
  findDevelopmentServer,
  checkContextName,
  DEVELOPMENT,
  getContext,
  readContexts,
  writeContexts,
  exitCode,
  UsageFault,
} from '../../terminal/index.js';
import { formatTable } from '../print/table.js';
import { formatDocument, type OutputFormat } from '../print/text.js';
import type { Command } from '../session.js';
import { warnAboutEnvironment } from './login.js';

/** Lists the contexts, the current one marked. Tokens are never shown. */
export const listContexts: Command<{ readonly output: OutputFormat }> = async (session, { output }) => {
  const { terminal, ink } = session;
  const { current, known } = await readContexts(terminal.environment);
  const development = findDevelopmentServer(terminal.environment);
  const rows = Object.entries(known).map(([name, { server, tenant, caFile }]) => ({ name, server, tenant, caFile }));
  const all = development === undefined ? rows : [...rows, { name: DEVELOPMENT, server: development }];
  const contexts = all.map(each => ({ ...each, current: each.name === (current ?? DEVELOPMENT) }));
  if (output === 'name') terminal.out(contexts.map(({ name }) => `context/${name}\n`).join(''));
  else if (output === 'json' || output === 'yaml') terminal.out(await formatDocument({ contexts }, output));
  else if (contexts.length === 0)
    terminal.err('There is no context. "moor login --server URL" makes one, "moor up" starts a server here.\n');
  else {
    const cells = contexts.map(({ name, server, current: isCurrent, ...rest }) => [
      isCurrent ? '*' : '',
      { text: name, ...(isCurrent && { paint: ink.bold }) },
      server,
      ('tenant' in rest && rest.tenant) || '-',
    ]);
    terminal.out(formatTable(['CURRENT', 'NAME', 'SERVER', 'TENANT'], cells, terminal.width));
    warnAboutEnvironment(session);
  }
  return exitCode.ok;
};

/** Makes a context the current one. */
export const useContext: Command<{ readonly name: string }> = async (session, { name }) => {
  const { environment } = session.terminal;
  const contexts = await readContexts(environment);
  if (name === DEVELOPMENT) {
    if (findDevelopmentServer(environment) === undefined)
      throw new UsageFault('there is no development server on this machine. Start one with "moor up".');
    await writeContexts(environment, { known: contexts.known });
  } else {
    getContext(contexts, name);
    await writeContexts(environment, { ...contexts, current: name });
  }
  session.terminal.out(`context ${session.ink.bold(name)} is current\n`);
  warnAboutEnvironment(session);
  return exitCode.ok;
};

/** Gives a context another name. */
export const renameContext: Command<{ readonly name: string; readonly to: string }> = async (session, { name, to }) => {
  const { environment } = session.terminal;
  const { current, known } = await readContexts(environment);
  getContext({ known }, name);
  checkContextName(to);
  if (to !== name && Object.hasOwn(known, to)) throw new UsageFault(`there is a context "${to}" already.`);
  const renamed = Object.entries(known).map(([each, context]) => [each === name ? to : each, context] as const);
  const now = current === name ? to : current;
  await writeContexts(environment, { known: Object.fromEntries(renamed), ...(now !== undefined && { current: now }) });
  session.terminal.out(`context ${name} is now ${session.ink.bold(to)}\n`);
  return exitCode.ok;
};

/** Forgets a context and its token. The token itself stays valid. */
export const deleteContext: Command<{ readonly name: string }> = async (session, { name }) => {
  const { terminal, ink } = session;
  const { current, known } = await readContexts(terminal.environment);
  getContext({ known }, name);
  const { [name]: _gone, ...rest } = known;
  const isCurrent = current === name;
  await writeContexts(terminal.environment, {
    known: rest,
    ...(current !== undefined && !isCurrent && { current }),
  });
  terminal.out(`context ${name} ${ink.green('deleted')}\n`);
  const more = isCurrent ? ' No context is current now: "moor context use NAME".' : '';
  terminal.err(`${ink.dim(`Its token stays valid until it is revoked: "moor tokens revoke".${more}`)}\n`);
  return exitCode.ok;
};
