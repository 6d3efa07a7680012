import { rmSync } from 'node:fs';

import { DockerEngine } from '../../pkg/agent/index.js';
import { clientOf } from '../development.js';
import type { KeptNode } from '../kept-nodes.js';
import { letGo } from '../let-go.js';
import type { ChorePart, Facts } from '../part.js';

/**
 * A node that is no longer asked for. Its agent has ended by now. What is kept of it goes last: until then, whoever looks again
 * finds it and goes on. `asking` tells one leaving of a node from the next one of the same name.
 */
export function leaverPart(node: KeptNode, asking: string): ChorePart {
  return {
    kind: 'chore',
    name: `leaver-${node.name}`,
    title: `${node.name} is let go`,
    remedy: 'Read the log of the server; "moor up" tries again.',
    recipe: () => asking,
    async run({ home, facts }) {
      const client = clientOf(home, facts);
      const engine = engineOf(facts);
      try {
        const removed = await letGo(node, { client, engine });
        rmSync(home.path('agents', node.name), { recursive: true, force: true });
        return { facts: {}, detail: removed === 1 ? '1 container removed' : `${removed} containers removed` };
      } finally {
        client.close();
        await engine?.close();
      }
    },
  };
}

function engineOf({ docker }: Facts): DockerEngine | undefined {
  return docker === undefined ? undefined : new DockerEngine({ host: docker });
}
