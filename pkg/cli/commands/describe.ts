import type { Client } from '../../client/index.js';
import { type ExitCode, exitCode } from '../exit-code.js';
import { getBehaviour } from '../kind-behaviours.js';
import { type CliKind, events, findKind } from '../kinds.js';
import type { Command, Session } from '../session.js';
import type { EventView } from '../views.js';
import { type AnyView, describeAny } from './describe-any.js';
import type { Describer } from './describe-env.js';

interface DescribeInput {
  readonly kind: string;
  readonly name: string;
  /** Shows events of earlier objects of the same name too. */
  readonly predecessors?: boolean;
}

/** Shows one object with all that is known of it. Kinds without a description of their own are described by descriptor. */
export const describe: Command<DescribeInput> = async (session, { kind: word, name, predecessors }) => {
  const kind = findKind(word, session.kinds);
  const client = await session.connect(kind.speaker);
  const found = await findObject(session, client, kind, name);
  if (typeof found === 'number') return found;

  const named = `${kind.kind}/${kind.nameOf(found)}`;
  const recent = await fetchEvents(client, predecessors ? named : (found.metadata?.uid ?? named));
  const look = { now: session.terminal.clock.now(), ink: session.ink };
  const env = { client, path: kind.pathOf(name), events: recent, look };
  const load = getBehaviour(kind.descriptor).describe;
  const described = load
    ? await ((await load()) as Describer<unknown>)(found, env)
    : describeAny(kind.descriptor, found, env);
  if (typeof described !== 'string') return session.reportRejection(described);
  session.terminal.out(described);
  return exitCode.ok;
};

/** The object as lists show it, which is what columns are made for: most kinds also show one alone. */
async function findObject(
  session: Session,
  client: Client,
  { descriptor, path, pathOf, nameOf }: CliKind,
  name: string,
): Promise<AnyView | ExitCode> {
  if (descriptor.operations.includes('get')) {
    const answer = await client.request<AnyView>('GET', pathOf(name));
    return answer.ok ? answer.value : session.reportRejection(answer);
  }
  const list = await client.all<AnyView>(path);
  if (!list.ok) return session.reportRejection(list);
  const found = list.value.items.find(each => nameOf(each) === name);
  if (found) return found;
  const { singular, plural } = descriptor;
  session.terminal.err(`there is no ${singular} "${name}": "moor get ${plural}" lists those that there are\n`);
  return exitCode.notFound;
}

async function fetchEvents(client: Client, subject: string): Promise<readonly EventView[]> {
  const answer = await client.all<EventView>(events.path, { query: { subject } });
  if (!answer.ok) return [];
  // In the order in which they were stored: two writers may have read the clock in the other order.
  return answer.value.items.toSorted(
    (a, b) => Number(a.revision ?? 0) - Number(b.revision ?? 0) || a.lastSeenAt.localeCompare(b.lastSeenAt),
  );
}
