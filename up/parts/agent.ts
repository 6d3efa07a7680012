import { existsSync } from 'node:fs';

import { Client } from '../../pkg/client/index.js';
import { PartFault } from '../faults.js';
import { joinTokenFor, nodeCalled } from '../join.js';
import { startProgram } from '../node-program.js';
import type { Facts, PartEnv, ProcessPart } from '../part.js';
import type { EngineKind } from '../plan.js';
import { untilServing } from '../until-serving.js';

/**
 * The agent of one node. All nodes of the all-in-one share one engine: containers of every node but the first carry
 * the node's name before their own, so that they do not meet.
 */
export function agentPart(number: number, engine: EngineKind): ProcessPart {
  const name = `node-${number}`;
  return {
    kind: 'process',
    name: `agent-${number}`,
    title: `agent of ${name}`,
    remedy: 'Read the log; "moor down" and "moor up" start afresh.',
    graceMs: 15_000,
    recipe: facts => JSON.stringify({ engine, docker: facts['docker'], server: facts['server'] }),
    async start(env) {
      const { home, clock, facts } = env;
      const logFile = home.log(`agent-${number}`);
      const since = clock.now();
      const client = clientOf(env);
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

function clientOf({ home, facts }: PartEnv): Client {
  const development = home.development.read();
  if (!development) throw new PartFault('the tokens of the development server are missing');
  return new Client({ server: facts['server']!, token: development.tokens.tenant, timeoutMs: 5_000 });
}

/** A node stays ready for a while after its agent has gone: only a heartbeat since then is this agent's. */
async function isHeard(client: Client, name: string, since: number): Promise<boolean> {
  const node = await nodeCalled(client, name);
  return node?.status === 'ready' && Date.parse(node.agent.lastHeartbeatAt ?? '') >= since;
}
