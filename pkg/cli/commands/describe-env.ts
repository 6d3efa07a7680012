import type { Client, RejectionAnswer } from '../../client/index.js';
import { type CellContext, nodes } from '../kinds.js';
import type { CandidateView } from '../../../crds/scheduling/index.js';
import type { EventView } from '../../../crds/event/index.js';
import type { NodeView } from '../../../crds/node/index.js';

/** What the description of an object is made with, beside the object. */
export interface DescribeEnv {
  readonly client: Client;
  /** The path of the object. */
  readonly path: string;
  /** What happened to the object, in the order in which it was stored. */
  readonly events: readonly EventView[];
  readonly look: CellContext;
}

/** Describes an object as the API shows it, or passes on why the server does not show what belongs to it. */
export type Describer<View> = (view: View, env: DescribeEnv) => Description | Promise<Description>;

type Description = string | RejectionAnswer;

/** What every node says to one more replica, as of now, while some replica has no node. */
export async function fetchCandidates(
  { client, path }: DescribeEnv,
  isUnplaced: boolean,
): Promise<readonly CandidateView[]> {
  if (!isUnplaced) return [];
  const answer = await client.request<{ readonly candidates: readonly CandidateView[] }>('GET', `${path}/explain`);
  return answer.ok ? answer.value.candidates : [];
}

/** Maps ids of nodes to names. A node that is gone, or may not be seen, keeps its id. */
export async function loadNodeNames(client: Client): Promise<(id: string) => string> {
  const answer = await client.all<NodeView>(nodes.path);
  const names = new Map(answer.ok ? answer.value.items.map(({ id, name }) => [id, name]) : []);
  return id => names.get(id) ?? id;
}
