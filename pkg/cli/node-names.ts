import type { Client } from '../client/index.js';
import { nodes } from './kinds.js';
import type { NodeView } from './views.js';

/** What people call a node that is known by its id. One that is gone, or may not be seen, goes by its id. */
export async function nodeNames(client: Client): Promise<(id: string) => string> {
  const answer = await client.all<NodeView>(nodes.path);
  const names = new Map(answer.ok ? answer.value.items.map(({ id, name }) => [id, name]) : []);
  return id => names.get(id) ?? id;
}
