import { exitCode } from '../exit-code.js';
import { events as kind, type Kind } from '../kinds.js';
import type { Format } from '../print/document.js';
import { plain } from '../print/plain.js';
import type { Command, Session } from '../session.js';
import type { EventView } from '../views.js';
import { show } from './get.js';

interface EventsInput {
  readonly watch: boolean;
  readonly type: string | undefined;
  readonly subject: string | undefined;
  readonly output: Format;
}

/** Lists what happened, or tells it as it happens. */
export const events: Command<EventsInput> = async (session, { watch, type, subject, output }) => {
  const client = await session.connect();
  const query = { type, subject };
  if (!watch) {
    const list = await client.all<EventView>(kind.path, { query });
    if (!list.ok) return session.refused(list);
    await show(session, kind as Kind<never> as Kind<unknown>, list.value.items, list.value, output);
    return exitCode.ok;
  }

  const { terminal } = session;
  const onConnection = (up: boolean) => terminal.err(up ? 'connected again\n' : 'connection lost, resuming\n');
  for await (const change of client.watch<EventView>(kind.path, {
    query,
    signal: terminal.interrupted,
    onConnection,
  })) {
    if (change.type === 'refused') return session.refused(change.refusal);
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
