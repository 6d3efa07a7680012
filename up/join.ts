import type { NodeView } from '../pkg/cli/index.js';
import type { Client } from '../pkg/client/index.js';
import { PartFault } from './faults.js';

/** Mints the token with which one node may enrol. */
export async function joinTokenFor(client: Client, nodeName: string): Promise<string> {
  const answer = await client.request<{ readonly token: string }>('POST', '/api/v1/nodes/join-tokens', {
    body: { nodeName },
  });
  if (answer.ok) return answer.value.token;
  throw new PartFault(`the server gave no join token: ${answer.rejections[0].code}`);
}

/** What the control plane says of a node; nothing when it does not know it. */
export async function nodeCalled(client: Client, name: string): Promise<NodeView | undefined> {
  const answer = await client.request<NodeView>('GET', `/api/v1/nodes/${name}`);
  return answer.ok ? answer.value : undefined;
}
