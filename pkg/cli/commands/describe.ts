import type { Client } from '../../client/index.js';
import { exitCode, UsageFault } from '../exit-code.js';
import { deployments, events, findKind, type CellContext, nodes, formatPairs } from '../kinds.js';
import { type Fact, formatEvents, formatFacts, formatSection } from '../print/sections.js';
import { choosePaint, formatAge } from '../print/text.js';
import type { Command } from '../session.js';
import { describeNode, type NodeReplicasView } from './describe-node.js';
import type { CandidateView, DeploymentView, EventView, NodeView } from '../views.js';

interface DescribeInput {
  readonly kind: string;
  readonly name: string;
}

/** Shows one object with its conditions, placements and events. */
export const describe: Command<DescribeInput> = async (session, { kind: word, name }) => {
  const kind = findKind(word);
  if (kind.path !== deployments.path && kind.path !== nodes.path) {
    throw new UsageFault(`a ${word} cannot be described: "moor get ${word}" shows everything.`);
  }
  const client = await session.connect();
  const path = `${kind.path}/${encodeURIComponent(name)}`;
  const answer = await client.request<DeploymentView | NodeView>('GET', path);
  if (!answer.ok) return session.reportRejection(answer);

  const recent = await fetchEvents(client, answer.value.name);
  const look = { now: session.terminal.clock.now(), ink: session.ink };
  if (kind.path === nodes.path) {
    const replicas = await client.request<NodeReplicasView>('GET', `${path}/replicas`);
    if (!replicas.ok) return session.reportRejection(replicas);
    session.terminal.out(describeNode(answer.value as NodeView, replicas.value, recent, look));
  } else {
    const nodeName = await loadNodeNames(client);
    session.terminal.out(describeDeployment(answer.value as DeploymentView, recent, { ...look, nodeName }));
  }
  return exitCode.ok;
};

async function fetchEvents(client: Client, subject: string): Promise<readonly EventView[]> {
  const answer = await client.all<EventView>(events.path, { query: { subject } });
  if (!answer.ok) return [];
  return answer.value.items.toSorted((a, b) => a.lastSeenAt.localeCompare(b.lastSeenAt));
}

/** Maps ids of nodes to names. A node that is gone, or may not be seen, keeps its id. */
export async function loadNodeNames(client: Client): Promise<(id: string) => string> {
  const answer = await client.all<NodeView>(nodes.path);
  const names = new Map(answer.ok ? answer.value.items.map(({ id, name }) => [id, name]) : []);
  return id => names.get(id) ?? id;
}

type DeploymentContext = CellContext & { readonly nodeName: (id: string) => string };

/** A deployment: its spec, its status, its placements and its events. */
function describeDeployment(view: DeploymentView, events: readonly EventView[], look: DeploymentContext): string {
  const { metadata, status, healthCheck, ports = [], environment = {}, resources = {} } = view;
  const { limits, ...requests } = resources;
  const { ink, now } = look;
  const phase = status?.phase ?? 'Pending';
  const facts: readonly Fact[] = [
    ['Name', view.name],
    ['Uid', metadata.uid],
    ['Phase', phase, choosePaint(ink, phase)],
    ['Message', status?.message],
    ['Replicas', `${status?.readyReplicas ?? 0} of ${view.replicas} ready, ${status?.updatedReplicas ?? 0} up to date`],
    ['Generation', `${metadata.generation} (observed: ${status?.observedGeneration ?? 0})`],
    ['Created', `${metadata.createdAt} (${formatAge(metadata.createdAt, now)} ago)`],
    ['Image', view.image],
    ['Entrypoint', view.entrypoint?.join(' ')],
    ['Command', view.command?.join(' ')],
    ['Node', view.nodeId && look.nodeName(view.nodeId)],
    [
      'Ports',
      ports.map(port => `${port.hostPort ? `${port.hostPort}:` : ''}${port.containerPort}/${port.protocol}`).join(', '),
    ],
    ['Requests', resources && formatPairs(requests as Record<string, string>)],
    ['Limits', limits && formatPairs(limits as Record<string, string>)],
    ['User', view.user],
    ['Root file system', view.readOnlyRootFilesystem ? 'read-only' : undefined],
    ['Health check', healthCheck && healthCheck.command.join(' ')],
    ['Environment', formatPairs(environment)],
    ['Labels', formatPairs(view.labels ?? {})],
  ];
  return [
    formatFacts(facts, look),
    formatConditions(view, look),
    formatPlacements(view, look),
    formatScheduling(view, events),
    formatEvents(events, look),
  ].join('');
}

function formatConditions({ status }: DeploymentView, { ink, now }: CellContext): string {
  const rows = (status?.conditions ?? []).map(({ type, status: holds, reason, message, lastTransitionTime }) => [
    type,
    holds,
    reason,
    formatAge(lastTransitionTime, now),
    message,
  ]);
  return formatSection('Conditions', ['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'], rows, ink.bold);
}

function formatPlacements({ status }: DeploymentView, { ink, nodeName }: DeploymentContext): string {
  const rows = (status?.placements ?? []).map(({ replica, nodeId, state, health, restarts, containerId }) => {
    const node = nodeId ? nodeName(nodeId) : '-';
    return [String(replica), node, state, health, String(restarts), containerId?.slice(0, 12) ?? '-'];
  });
  return formatSection('Placements', ['REPLICA', 'NODE', 'STATE', 'HEALTH', 'RESTARTS', 'CONTAINER'], rows, ink.bold);
}

/** Why each node was filtered out, from the newest event, while the deployment is unschedulable. */
function formatScheduling({ status }: DeploymentView, events: readonly EventView[]): string {
  if (status?.phase !== 'Unschedulable') return '';
  const event = events.findLast(({ type }) => type === 'deployment.unschedulable');
  const candidates = (event?.data['candidates'] ?? []) as readonly Pick<CandidateView, 'node' | 'reasons'>[];
  const rows = candidates.flatMap(({ node, reasons }) => reasons.map(({ filter, message }) => [node, filter, message]));
  return formatSection('Why no node fits', ['NODE', 'FILTER', 'REASON'], rows, text => text);
}
