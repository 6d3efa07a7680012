import { formatBytes, formatCores } from '../../../crds/grammar/index.js';
import type { Client } from '../../client/index.js';
import { exitCode, UsageFault } from '../exit-code.js';
import { deployments, events, findKind, type CellContext, nodes, pairs } from '../kinds.js';
import { type Cell, table } from '../print/table.js';
import { formatAge, paintState, plain } from '../print/text.js';
import type { Command } from '../session.js';
import type { DeploymentView, EventView, NodeView } from '../views.js';

interface DescribeInput {
  readonly kind: string;
  readonly name: string;
}

/** Everything about one object that helps to understand it. */
export const describe: Command<DescribeInput> = async (session, { kind: word, name }) => {
  const kind = findKind(word);
  if (kind.path !== deployments.path && kind.path !== nodes.path) {
    throw new UsageFault(`a ${word} cannot be described: "moor get ${word}" shows all there is.`);
  }
  const client = await session.connect();
  const path = `${kind.path}/${encodeURIComponent(name)}`;
  const answer = await client.request<DeploymentView | NodeView>('GET', path);
  if (!answer.ok) return session.reportRejection(answer);

  const happened = await recentEvents(client, answer.value.name);
  const look = { now: session.terminal.clock.now(), ink: session.ink };
  const text =
    kind.path === nodes.path
      ? describeNode(answer.value as NodeView, happened, look)
      : describeDeployment(answer.value as DeploymentView, happened, {
          ...look,
          nodeName: await loadNodeNames(client),
        });
  session.terminal.out(text);
  return exitCode.ok;
};

async function recentEvents(client: Client, subject: string): Promise<readonly EventView[]> {
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

const EVENTS_SHOWN = 15;

type Fact = readonly [name: string, value: string | undefined];

/** The description of a deployment names nodes. */
interface FleetLook extends CellContext {
  readonly nodeName: (id: string) => string;
}

/** A deployment: its spec, its status, its placements and its events. */
export function describeDeployment(view: DeploymentView, events: readonly EventView[], look: FleetLook): string {
  const { metadata, status, healthCheck, ports = [], environment = {}, resources } = view;
  const { ink, now } = look;
  const facts: readonly Fact[] = [
    ['Name', view.name],
    ['Uid', metadata.uid],
    ['Phase', paintState(ink, status?.phase ?? 'Pending')],
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
    ['Resources', resources && pairs(resources as Record<string, string>)],
    ['Health check', healthCheck && healthCheck.command.join(' ')],
    ['Environment', pairs(environment)],
    ['Labels', pairs(view.labels ?? {})],
  ];
  return [
    factLines(facts, look),
    conditions(view, look),
    placements(view, look),
    scheduling(view, events),
    history(events, look),
  ].join('');
}

/** A node: its identity, its status, its free resources and its events. */
export function describeNode(node: NodeView, events: readonly EventView[], look: CellContext): string {
  const { ink, now } = look;
  const facts: readonly Fact[] = [
    ['Name', node.name],
    ['Id', node.id],
    ['Status', paintState(ink, node.status)],
    [
      'Schedulable',
      `${node.schedulable.value ? 'yes' : 'no'}${node.schedulable.reason ? `: ${node.schedulable.reason}` : ''}`,
    ],
    ['Control plane', node.controlPlane ? 'yes' : 'no'],
    ['CPU', `${formatCores(node.free.cpu)} of ${formatCores(node.capacity.cpu)} cores free`],
    ['Memory', `${formatBytes(node.free.memory)} of ${formatBytes(node.capacity.memory)} free`],
    ['Disk', formatBytes(node.capacity.disk)],
    ['Agent', `${node.agent.version}, last heartbeat ${formatAge(node.agent.lastHeartbeatAt ?? undefined, now)} ago`],
    ['Labels', pairs(node.labels)],
    ['Enrolled', `${node.metadata.createdAt} (${formatAge(node.metadata.createdAt, now)} ago)`],
  ];
  return factLines(facts, look) + history(events, look);
}

function factLines(facts: readonly Fact[], { ink }: CellContext): string {
  return facts
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${ink.bold(`${name}:`.padEnd(15))} ${value}\n`)
    .join('');
}

function conditions({ status }: DeploymentView, { ink, now }: CellContext): string {
  const rows = (status?.conditions ?? []).map(({ type, status: holds, reason, message, lastTransitionTime }) =>
    cells([type, holds, reason, formatAge(lastTransitionTime, now), message]),
  );
  return section('Conditions', ['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'], rows, ink.bold);
}

function placements({ status }: DeploymentView, { ink, nodeName }: FleetLook): string {
  const rows = (status?.placements ?? []).map(({ replica, nodeId, state, health, restarts, containerId }) =>
    cells([
      String(replica),
      nodeId ? nodeName(nodeId) : '-',
      state,
      health,
      String(restarts),
      containerId?.slice(0, 12) ?? '-',
    ]),
  );
  return section('Placements', ['REPLICA', 'NODE', 'STATE', 'HEALTH', 'RESTARTS', 'CONTAINER'], rows, ink.bold);
}

interface Candidate {
  readonly node: string;
  readonly reasons: readonly { readonly filter: string; readonly message: string }[];
}

/** Why each node was filtered out, from the newest event, while the deployment is unschedulable. */
function scheduling({ status }: DeploymentView, events: readonly EventView[]): string {
  if (status?.phase !== 'Unschedulable') return '';
  const event = events.findLast(({ type }) => type === 'deployment.unschedulable');
  const candidates = (event?.data['candidates'] ?? []) as readonly Candidate[];
  const rows = candidates.flatMap(({ node, reasons }) =>
    reasons.map(({ filter, message }) => cells([node, filter, message])),
  );
  return section('Why no node fits', ['NODE', 'FILTER', 'REASON'], rows, text => text);
}

function history(events: readonly EventView[], { ink, now }: CellContext): string {
  const rows = events
    .slice(-EVENTS_SHOWN)
    .map(({ lastSeenAt, type, count, message }) => cells([formatAge(lastSeenAt, now), type, String(count), message]));
  return section('Events', ['LAST SEEN', 'TYPE', 'COUNT', 'MESSAGE'], rows, ink.bold);
}

type Rows = readonly (readonly Cell[])[];

function section(title: string, titles: readonly string[], rows: Rows, bold: (text: string) => string): string {
  if (rows.length === 0) return '';
  const indented = table(titles, rows).replace(/^/gm, '  ').trimEnd();
  return `${bold(`${title}:`)}\n${indented}\n`;
}

function cells(texts: readonly string[]): readonly Cell[] {
  return texts.map(text => ({ text: plain(text) }));
}
