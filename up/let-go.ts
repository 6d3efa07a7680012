import type { Engine } from '../pkg/agent/index.js';
import type { Client } from '../pkg/client/index.js';
import { endContainers } from './end-containers.js';
import { PartFault } from './faults.js';
import type { KeptNode } from './kept-nodes.js';

/** What letting a node go needs of the world. */
export interface LetGoEnv {
  readonly client: Pick<Client, 'request'>;
  /** What its containers run on; none where they have ended with the agent. */
  readonly engine: Pick<Engine, 'list' | 'stop' | 'remove'> | undefined;
}

/**
 * Lets go of a node whose agent has ended for good: its containers, then the node itself.
 *
 * It is fenced when its last container is gone, so that replacements come at once and never beside what they replace.
 * Every step may be repeated.
 */
export async function letGo({ name, id }: KeptNode, { client, engine }: LetGoEnv): Promise<number> {
  const removed = engine && id !== undefined ? await endContainers(engine, [id], { remove: true }) : 0;
  await ask(client, 'POST', `/api/v1/nodes/${name}/fence`);
  await ask(client, 'DELETE', `/api/v1/nodes/${name}`);
  return removed;
}

/** A node that is not known needs no letting go. */
async function ask(client: LetGoEnv['client'], method: string, path: string): Promise<void> {
  const answer = await client.request(method, path);
  if (!answer.ok && answer.status !== 404) throw new PartFault(`${method} ${path}: ${answer.rejections[0].code}`);
}
