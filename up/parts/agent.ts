import { existsSync } from 'node:fs';

import type { Client } from '../../pkg/client/index.js';
import { clientOf } from '../development.js';
import { joinTokenFor, nodeCalled } from '../join.js';
import { startProgram } from '../node-program.js';
import type { Facts, ProcessPart } from '../part.js';
import type { EngineKind } from '../plan.js';
import { untilServing } from '../until-serving.js';

/** What the node of this number is called. */
export function nodeName(number: number): string {
  return `node-${number}`;
}

/**
 * The agent of one node. All nodes of the all-in-one share one engine: containers of every node but the first carry
 * the node's name before their own, so that they do not meet.
 */
export function agentPart(number: number, engine: EngineKind): ProcessPart {
  const name = nodeName(number);
  return {
    kind: 'process',
    name: `agent-${number}`,
    title: `agent of ${name}`,
    remedy: 'Read the log; "moor down" and "moor up" start afresh.',
    graceMs: 15_000,
    recipe: facts => JSON.stringify({ engine, docker: facts['docker'], server: facts['server'] }),
    async start({ home, clock, facts }) {
      const logFile = home.log(`agent-${number}`);
      const since = clock.now();
      const client = clientOf(home, facts);
      try {
        const state = home.path('agents', name);
        const pid = await startProgram({
          main: 'pkg/agent/main.ts',
          words: [
            `--name=${name}`,
            `--state-dir=${state}`,
            `--engine=${engine}`,
            `--server=${facts['server']}`,
            ...dockerWords(facts),
            ...(number === 1 ? [] : [`--name-prefix=${name}-`]),
          ],
          environment: existsSync(`${state}/node.json`) ? {} : { MOORING_JOIN_TOKEN: await joinTokenFor(client, name) },
          logFile,
        });
        await untilServing({
          pid,
          clock,
          logFile,
          serves: () => isHeard(client, name, since),
        });
        return { pid, facts: {}, detail: name };
      } finally {
        client.close();
      }
    },
  };
}

function dockerWords({ docker }: Facts): readonly string[] {
  return docker === undefined ? [] : [`--docker-host=${docker}`];
}

/** A node stays ready for a while after its agent has gone: only a heartbeat since then is this agent's. */
async function isHeard(client: Client, name: string, since: number): Promise<boolean> {
  const node = await nodeCalled(client, name);
  return node?.status === 'ready' && Date.parse(node.agent.lastHeartbeatAt ?? '') >= since;
}
