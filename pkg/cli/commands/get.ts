import { exitCode } from '../exit-code.js';
import { events as kind, type CliKind, findKind } from '../kinds.js';
import { table } from '../print/table.js';
import { formatDocument, type OutputFormat, plain } from '../print/text.js';
import type { Command, Session } from '../session.js';
import type { EventView } from '../views.js';

interface GetInput {
  readonly kind: string;
  readonly name?: string;
  readonly output: OutputFormat;
}

/** Lists one kind, or shows one object of it. */
export const get: Command<GetInput> = async (session, { kind: word, name, output }) => {
  const kind = findKind(word);
  const client = await session.connect(kind.speaker);
  if (name === undefined) {
    const list = await client.all<unknown>(kind.path);
    if (!list.ok) return session.reportRejection(list);
    await show(session, kind, list.value.items, list.value, output);
    return exitCode.ok;
  }
  const one = await client.request<unknown>('GET', `${kind.path}/${encodeURIComponent(name)}`);
  if (!one.ok) return session.reportRejection(one);
  await show(session, kind, [one.value], one.value, output);
  return exitCode.ok;
};

/** Prints objects of one kind: as a table, as names, or as the `whole` document that the server answered. */
export async function show(
  { terminal, ink }: Session,
  kind: CliKind,
  items: readonly unknown[],
  whole: unknown,
  output: OutputFormat,
): Promise<void> {
  if (output === 'json' || output === 'yaml') return terminal.out(await formatDocument(whole, output));
  if (output === 'name') return terminal.out(items.map(item => `${kind.names[0]}/${kind.nameOf(item)}\n`).join(''));
  if (items.length === 0) return terminal.err(`no ${kind.names[1]}\n`);

  const columns = kind.columns.filter(({ wide }) => wide !== true || output === 'wide');
  const look = { now: terminal.clock.now(), ink };
  const rows = items.map(item => columns.map(({ cell }) => cell(item, look)));
  const width = output === 'wide' ? undefined : terminal.width;
  terminal.out(
    table(
      columns.map(({ title }) => title),
      rows,
      width,
    ),
  );
}

interface EventsInput {
  readonly watch: boolean;
  readonly type: string | undefined;
  readonly subject: string | undefined;
  readonly output: OutputFormat;
}

/** Lists events, or prints them as they happen. */
export const listEvents: Command<EventsInput> = async (session, { watch, type, subject, output }) => {
  const client = await session.connect();
  const query = { type, subject };
  if (!watch) {
    const list = await client.all<EventView>(kind.path, { query });
    if (!list.ok) return session.reportRejection(list);
    await show(session, kind, list.value.items, list.value, output);
    return exitCode.ok;
  }

  const { terminal } = session;
  const onConnection = (up: boolean) => terminal.err(up ? 'reconnected\n' : 'connection lost, resuming\n');
  for await (const change of client.watch<EventView>(kind.path, {
    query,
    signal: terminal.interrupted,
    onConnection,
  })) {
    if (change.type === 'refused') return session.reportRejection(change.refusal);
    if (change.type === 'added' || change.type === 'modified') {
      terminal.out(output === 'json' ? `${JSON.stringify(change.object)}\n` : eventLine(session, change.object));
    }
  }
  return exitCode.ok;
};

/** `12:04:31  deployment.running  deployment/web  2 of 2 replicas are ready` */
function eventLine({ ink }: Session, { lastSeenAt, type, severity, subject, count, message }: EventView): string {
  const what = (severity === 'warning' ? ink.red : ink.green)(plain(type));
  const often = count > 1 ? ink.dim(` (${count} times)`) : '';
  const whom = plain(`${subject.kind.toLowerCase()}/${subject.name}`);
  return `${ink.dim(lastSeenAt.slice(11, 19))}  ${what}  ${whom}  ${plain(message)}${often}\n`;
}
