import type { Client } from '../../client/index.js';
import { exitCode } from '../../terminal/index.js';
import { findObject } from '../find-object.js';
import { getBehaviour } from '../kind-behaviours.js';
import { events, findKind } from '../kinds.js';
import type { Command } from '../session.js';
import type { EventView } from '../../../crds/event/index.js';
import { type AnyView, describeAny } from './describe-any.js';
import type { Describer } from './describe-env.js';

interface DescribeInput {
  readonly kind: string;
  readonly name: string;
  /** Shows events of earlier objects of the same name too. */
  readonly predecessors?: boolean;
}

/** Shows one object with all that is known of it. Kinds without a description of their own are described by descriptor. */
export const describe: Command<DescribeInput> = async (session, { kind: word, name: given, predecessors }) => {
  const kind = findKind(word, session.kinds);
  const client = await session.connect(kind.speaker);
  // As lists show it, which is what columns are made for.
  const isAlone = kind.descriptor.operations.includes('get');
  const found = await findObject<AnyView>(session, client, kind, given, isAlone);
  if (typeof found === 'number') return found;

  const { name, object } = found;
  const named = `${kind.kind}/${kind.nameOf(object)}`;
  const recent = await fetchEvents(client, predecessors ? named : (object.metadata?.uid ?? named));
  const look = { now: session.terminal.clock.now(), ink: session.ink };
  const env = { client, path: kind.pathOf(name), events: recent, look };
  const load = getBehaviour(kind.descriptor).describe;
  const described = load
    ? await ((await load()) as Describer<unknown>)(object, env)
    : describeAny(kind.descriptor, object, env);
  if (typeof described !== 'string') return session.reportRejection(described);
  session.terminal.out(described);
  return exitCode.ok;
};

async function fetchEvents(client: Client, subject: string): Promise<readonly EventView[]> {
  const answer = await client.all<EventView>(events.path, { query: { subject } });
  if (!answer.ok) return [];
  // In the order in which they were stored: two writers may have read the clock in the other order.
  return answer.value.items.toSorted(
    (a, b) => Number(a.revision ?? 0) - Number(b.revision ?? 0) || a.lastSeenAt.localeCompare(b.lastSeenAt),
  );
}
