import { type ExitCode, exitCode, UsageFault, reportConnection } from '../../terminal/index.js';
import { findObject } from '../find-object.js';
import { getBehaviour } from '../kind-behaviours.js';
import { events as kind, type CliKind, findKind, listKinds } from '../kinds.js';
import { formatTable } from '../print/table.js';
import { formatDocument, type OutputFormat, stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import type { EventView } from '../../../crds/event/index.js';

interface GetInput {
  readonly kind: string;
  readonly name?: string | undefined;
  readonly output: OutputFormat;
}

/** Lists one kind or, with `all`, those of the tenant, or shows one object. */
export const get: Command<GetInput> = async (session, { kind: word, name, output }) => {
  if (word === 'all') return getAll(session, name, output);
  const kind = findKind(word, session.kinds);
  const client = await session.connect(kind.speaker);
  if (name !== undefined) {
    const found = await findObject(session, client, kind, name);
    if (typeof found === 'number') return found;
    await printObjects(session, kind, [found.object], found.object, output);
    return exitCode.ok;
  }
  const answer = await client.all<unknown>(kind.path);
  if (!answer.ok) return session.reportRejection(answer);
  await printObjects(session, kind, answer.value.items, answer.value, output);
  return exitCode.ok;
};

async function getAll(session: Session, name: string | undefined, output: OutputFormat): Promise<ExitCode> {
  if (name !== undefined) throw new UsageFault('"get all" takes no name: "moor get <kind> <name>" shows one object.');
  const kinds = listKinds(session.kinds).filter(
    ({ speaker, descriptor }) => speaker === 'tenant' && !getBehaviour(descriptor).isLeftOutOfAll,
  );
  const client = await session.connect();
  const found: (readonly [CliKind, readonly unknown[]])[] = [];
  for (const each of kinds) {
    const answer = await client.all<unknown>(each.path);
    if (!answer.ok) return session.reportRejection(answer);
    found.push([each, answer.value.items]);
  }

  const { terminal, ink } = session;
  if (output === 'json' || output === 'yaml') {
    const document = Object.fromEntries(found.map(([{ names }, items]) => [names[1]!, items]));
    terminal.out(await formatDocument(document, output));
    return exitCode.ok;
  }
  const present = found.filter(([, items]) => items.length > 0);
  if (present.length === 0) terminal.err(`no ${kinds.map(({ names }) => names[1]).join(', no ')}\n`);
  for (const [position, [each, items]] of present.entries()) {
    if (output !== 'name') terminal.out(`${position > 0 ? '\n' : ''}${ink.bold(`${each.names[1]}:`)}\n`);
    await printObjects(session, each, items, items, output);
  }
  return exitCode.ok;
}

/** Prints objects of one kind: as a table, as names, or as the `document` that the server answered. */
async function printObjects(
  { terminal, ink }: Session,
  kind: CliKind,
  items: readonly unknown[],
  document: unknown,
  output: OutputFormat,
): Promise<void> {
  if (output === 'json' || output === 'yaml') return terminal.out(await formatDocument(document, output));
  if (output === 'name') return terminal.out(items.map(item => `${kind.names[0]}/${kind.nameOf(item)}\n`).join(''));
  if (items.length === 0) return terminal.err(`no ${kind.names[1]}\n`);

  const isWide = output === 'wide';
  const columns = kind.columns.filter(({ wide, isWarning }) => isWide || !wide || items.some(isWarning));
  const titles = columns.map(({ title }) => title);
  const look = { now: terminal.clock.now(), ink };
  const rows = items.map(item =>
    columns.map(({ cell, wide, isWarning }) => (isWide || !wide || isWarning(item) ? cell(item, look) : '')),
  );
  terminal.out(formatTable(titles, rows, isWide ? undefined : terminal.width));
}

interface EventsInput {
  readonly watch?: boolean;
  readonly type?: string;
  readonly subject?: string;
  readonly output: OutputFormat;
}

/** Lists events, or prints them as they happen. */
export const listEvents: Command<EventsInput> = async (session, { watch, type, subject, output }) => {
  const client = await session.connect();
  const query = { type, subject };
  if (!watch) {
    const list = await client.all<EventView>(kind.path, { query });
    if (!list.ok) return session.reportRejection(list);
    await printObjects(session, kind, list.value.items, list.value, output);
    return exitCode.ok;
  }

  const { terminal } = session;
  const options = { query, signal: terminal.interrupted, onConnection: reportConnection(terminal) };
  for await (const change of client.watch<EventView>(kind.path, options)) {
    if (change.type === 'refused') return session.reportRejection(change.refusal);
    if (change.type === 'added' || change.type === 'modified') {
      terminal.out(output === 'json' ? `${JSON.stringify(change.object)}\n` : formatEvent(session, change.object));
    }
  }
  return exitCode.ok;
};

/** `12:04:31  deployment.running  deployment/web  2 of 2 replicas are ready` */
function formatEvent({ ink }: Session, { lastSeenAt, type, severity, subject, count, message }: EventView): string {
  const paintedType = (severity === 'warning' ? ink.red : ink.green)(stripControls(type));
  const repeated = count > 1 ? ink.dim(` (${count} times)`) : '';
  const title = stripControls(`${subject.kind.toLowerCase()}/${subject.name}`);
  return `${ink.dim(lastSeenAt.slice(11, 19))}  ${paintedType}  ${title}  ${stripControls(message)}${repeated}\n`;
}
