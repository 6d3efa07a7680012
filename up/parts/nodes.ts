import { rmSync } from 'node:fs';

import { formatCount } from '../../crds/grammar/index.js';
import { DockerEngine, type Engine } from '../../pkg/agent/index.js';
import type { NodeView } from '../../crds/node/index.js';
import type { Client } from '../../pkg/client/index.js';
import { type EngineKind, type LocalNode, readNodeId } from '../home/home.js';
import { type TaskPart, PartFault, type ProcessPart } from './part.js';
import { startProgram, waitUntilServing } from './program.js';
import { listReservedPorts, openClient } from './control-plane.js';
import { stopContainers } from './engine.js';

/** Mints the token with which one node may enrol. */
export async function mintJoinToken(client: Client, nodeName: string): Promise<string> {
  const answer = await client.request<{ readonly token: string }>('POST', '/api/v1/nodes/join-tokens', {
    body: { nodeName },
  });
  if (answer.ok) return answer.value.token;
  throw new PartFault(`the server refused a join token: ${answer.rejections[0].code}`);
}

/** The node as the API server shows it. Undefined when it does not know the node. */
export async function fetchNode(client: Client, name: string): Promise<NodeView | undefined> {
  const answer = await client.request<NodeView>('GET', `/api/v1/nodes/${name}`);
  return answer.ok ? answer.value : undefined;
}

/** The name of the node with this number. */
export function toNodeName(number: number): string {
  return `node-${number}`;
}

/**
 * The agent of one node. All nodes of the all-in-one share one engine: containers of every node but the first carry
 * the node's name before their own, so that names do not collide.
 */
export function createAgentPart(number: number, engine: EngineKind, bindRoots: readonly string[] = []): ProcessPart {
  const name = toNodeName(number);
  return {
    kind: 'process',
    name: `agent-${number}`,
    title: `agent of ${name}`,
    remedy: 'Read the log; "moor down" and "moor up" start afresh.',
    graceMs: 15_000,
    recipe: facts =>
      JSON.stringify({
        engine,
        docker: facts['docker'],
        server: facts['agentServer'],
        ports: listReservedPorts(facts),
        ...(bindRoots.length > 0 && { bindRoots }),
      }),
    async start({ home, clock, facts }) {
      const logFile = home.log(`agent-${number}`);
      const since = clock.now();
      const client = openClient(home, facts);
      try {
        const state = home.path('agents', name);
        const pid = await startProgram({
          main: 'pkg/agent/main.ts',
          argv: [
            `--name=${name}`,
            `--state-dir=${state}`,
            `--engine=${engine}`,
            `--server=${facts['agentServer']}`,
            `--ca-file=${facts['serverCa']}`,
            `--reserved-host-ports=${listReservedPorts(facts).join()}`,
            '--host-port-address=127.0.0.1',
            '--volume-listen=127.0.0.1:0',
            ...bindRoots.map(root => `--bind-root=${root}`),
            ...(facts['registry'] === undefined ? [] : [`--registry-logins-file=${home.registryLogins.path()}`]),
            ...(facts['docker'] === undefined ? [] : [`--docker-host=${facts['docker']}`]),
            ...(number === 1 ? [] : [`--name-prefix=${name}-`]),
          ],
          // An agent takes a damaged file for none, and joins again.
          environment: readNodeId(state) === undefined ? { MOORING_JOIN_TOKEN: await mintJoinToken(client, name) } : {},
          logFile,
        });
        await waitUntilServing({ pid, clock, logFile, serves: () => hasHeartbeatSince(client, name, since) });
        return { pid, facts: {}, detail: name };
      } finally {
        client.close();
      }
    },
  };
}

/** A node stays ready for a while after its agent has gone: only a heartbeat since then is this agent's. */
async function hasHeartbeatSince(client: Client, name: string, since: number): Promise<boolean> {
  const node = await fetchNode(client, name);
  return node?.status === 'ready' && Date.parse(node.agent.lastHeartbeatAt ?? '') >= since;
}

/** The dependencies of the removal of a node. */
export interface RemoveNodeEnv {
  readonly client: Pick<Client, 'request'>;
  /** The engine of its containers. Undefined where they ended with the agent. */
  readonly engine: Pick<Engine, 'list' | 'stop' | 'remove'> | undefined;
}

/**
 * Removes a node whose agent has ended for good: its containers, then the node itself.
 *
 * The node is fenced after its last container is gone, so that replacements start at once and never run beside the old
 * replicas. Every step may be repeated.
 */
export async function removeNode({ name, id }: LocalNode, { client, engine }: RemoveNodeEnv): Promise<number> {
  const removed = engine && id !== undefined ? await stopContainers(engine, [id], { remove: true }) : 0;
  await send(client, 'POST', `/api/v1/nodes/${name}/fence`);
  await send(client, 'DELETE', `/api/v1/nodes/${name}`);
  return removed;
}

/** A node that the server does not know is removed already. */
async function send(client: RemoveNodeEnv['client'], method: string, path: string): Promise<void> {
  const answer = await client.request(method, path);
  if (!answer.ok && answer.status !== 404) throw new PartFault(`${method} ${path}: ${answer.rejections[0].code}`);
}

/**
 * Removes a node that the plan no longer has. Its agent has ended by now. Its state on disk goes last, so that an
 * interrupted removal is resumed. `planId` distinguishes this removal from a later one of a node of the same name.
 */
export function removeNodePart(node: LocalNode, planId: string): TaskPart {
  return {
    kind: 'chore',
    name: `remove-${node.name}`,
    title: `removal of ${node.name}`,
    remedy: 'Read the log of the server; "moor up" tries again.',
    recipe: () => planId,
    async run({ home, facts }) {
      const client = openClient(home, facts);
      const engine = facts['docker'] === undefined ? undefined : new DockerEngine({ host: facts['docker'] });
      try {
        const removed = await removeNode(node, { client, engine });
        rmSync(home.path('agents', node.name), { recursive: true, force: true });
        return { facts: {}, detail: `${formatCount(removed, 'container')} removed` };
      } finally {
        client.close();
        await engine?.close();
      }
    },
  };
}
