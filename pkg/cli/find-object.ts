import type { ApiAnswer, Client } from '../client/index.js';
import { type ExitCode, exitCode } from '../terminal/index.js';
import { getBehaviour } from './kind-behaviours.js';
import type { CliKind } from './kinds.js';
import type { Session } from './session.js';

/** An object that a person has named, and the name by which the server knows it. */
export interface FoundObject<T> {
  readonly name: string;
  readonly object: T;
}

/** An object by the name that a person gives it: alone where the server shows one alone, or out of the list. What is refused is reported. */
export async function findObject<T>(
  session: Session,
  client: Client,
  kind: CliKind,
  given: string,
  isAlone = isShownAlone(kind),
): Promise<FoundObject<T> | ExitCode> {
  const { resolveName } = getBehaviour(kind.descriptor);
  const name = resolveName ? await (await resolveName())(client, given) : given;
  if (isAlone) {
    const answer: ApiAnswer<T> = await client.request<T>('GET', kind.pathOf(name));
    return answer.ok ? { name, object: answer.value } : session.reportRejection(answer);
  }
  const list = await client.all<T>(kind.path);
  if (!list.ok) return session.reportRejection(list);
  const object = list.value.items.find(each => kind.nameOf(each) === name);
  if (object !== undefined) return { name, object };
  const { singular, plural } = kind.descriptor;
  session.terminal.err(`there is no ${singular} "${given}": "moor get ${plural}" lists those that there are\n`);
  return exitCode.notFound;
}

/** Whether the server shows one object alone, as other requests do or in a form of its own. */
function isShownAlone({ descriptor: { operations, routes, item = '{name}' } }: CliKind): boolean {
  return operations.includes('get') || routes?.[`GET /${item}`] !== undefined;
}
