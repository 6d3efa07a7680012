import type { Capacity } from '../../crds/node/index.js';
import type { AgentOptions } from './agent-env.js';
import type { Engine } from './engine/index.js';

/** What the node has to offer. */
export async function capacity(engine: Engine, { diskBytes = 0 }: AgentOptions): Promise<Capacity> {
  const { cpu, memory } = await engine.facts();
  return { cpu, memory, disk: diskBytes };
}
