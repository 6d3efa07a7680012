import type { Client } from '../../client/index.js';
import { describeDeployment, describeNode } from '../print/describe.js';
import { exitCode } from '../exit-code.js';
import { UsageFault } from '../faults.js';
import { deployments, events, kindCalled, nodes } from '../kinds.js';
import { nodeNames } from '../node-names.js';
import type { Command } from '../session.js';
import type { DeploymentView, EventView, NodeView } from '../views.js';

interface DescribeInput {
  readonly kind: string;
  readonly name: string;
}

/** Everything about one object that helps to understand it. */
export const describe: Command<DescribeInput> = async (session, { kind: word, name }) => {
  const kind = kindCalled(word);
  if (kind.path !== deployments.path && kind.path !== nodes.path) {
    throw new UsageFault(`a ${word} cannot be described: "moor get ${word}" shows all there is.`);
  }
  const client = await session.connect();
  const path = `${kind.path}/${encodeURIComponent(name)}`;
  const answer = await client.request<DeploymentView | NodeView>('GET', path);
  if (!answer.ok) return session.refused(answer);

  const happened = await recentEvents(client, answer.value.name);
  const look = { now: session.terminal.clock.now(), ink: session.ink };
  const text =
    kind.path === nodes.path
      ? describeNode(answer.value as NodeView, happened, look)
      : describeDeployment(answer.value as DeploymentView, happened, { ...look, nodeName: await nodeNames(client) });
  session.terminal.out(text);
  return exitCode.ok;
};

async function recentEvents(client: Client, subject: string): Promise<readonly EventView[]> {
  const answer = await client.all<EventView>(events.path, { query: { subject } });
  if (!answer.ok) return [];
  return answer.value.items.toSorted((a, b) => a.lastSeenAt.localeCompare(b.lastSeenAt));
}
