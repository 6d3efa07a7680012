import { exitCode } from '../exit-code.js';
import { type Kind, kindCalled } from '../kinds.js';
import { documentText, type Format } from '../print/document.js';
import { table } from '../print/table.js';
import type { Command, Session } from '../session.js';

interface GetInput {
  readonly kind: string;
  readonly name?: string;
  readonly output: Format;
}

/** Lists one kind, or shows one object of it. */
export const get: Command<GetInput> = async (session, { kind: word, name, output }) => {
  const kind = kindCalled(word);
  const client = await session.connect(kind.speaker);
  if (name === undefined) {
    const list = await client.all<unknown>(kind.path);
    if (!list.ok) return session.refused(list);
    await show(session, kind, list.value.items, list.value, output);
    return exitCode.ok;
  }
  const one = await client.request<unknown>('GET', `${kind.path}/${encodeURIComponent(name)}`);
  if (!one.ok) return session.refused(one);
  await show(session, kind, [one.value], one.value, output);
  return exitCode.ok;
};

/** Prints objects of one kind: as a table, as names, or as the `whole` document that the server answered. */
export async function show(
  { terminal, ink }: Session,
  kind: Kind<unknown>,
  items: readonly unknown[],
  whole: unknown,
  output: Format,
): Promise<void> {
  if (output === 'json' || output === 'yaml') return terminal.out(await documentText(whole, output));
  if (output === 'name') return terminal.out(items.map(item => `${kind.names[0]}/${kind.nameOf(item)}\n`).join(''));
  if (items.length === 0) return terminal.err(`no ${kind.names[1]}\n`);

  const columns = kind.columns.filter(({ wide }) => wide !== true || output === 'wide');
  const look = { now: terminal.clock.now(), ink };
  const rows = items.map(item =>
    columns.map(({ cell }) => {
      const made = cell(item, look);
      return typeof made === 'string' ? { text: made } : made;
    }),
  );
  const width = output === 'wide' ? undefined : terminal.width;
  terminal.out(
    table(
      columns.map(({ title }) => title),
      rows,
      width,
    ),
  );
}
