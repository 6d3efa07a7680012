import { formatBytes, formatCores } from '../../../crds/grammar/index.js';
import type { Look } from '../kinds.js';
import { pairs } from '../kinds.js';
import type { DeploymentView, EventView, NodeView } from '../views.js';
import { age } from './age.js';
import { paintState } from './paint.js';
import { plain } from './plain.js';
import { type Cell, table } from './table.js';

const EVENTS_SHOWN = 15;

type Fact = readonly [name: string, value: string | undefined];

/** What is said of a deployment may name nodes. */
interface FleetLook extends Look {
  readonly nodeName: (id: string) => string;
}

/** A deployment: what was asked for, what became of it, what waits for what. */
export function describeDeployment(view: DeploymentView, events: readonly EventView[], look: FleetLook): string {
  const { metadata, status, healthCheck, ports = [], environment = {}, resources } = view;
  const { ink, now } = look;
  const facts: readonly Fact[] = [
    ['Name', view.name],
    ['Uid', metadata.uid],
    ['Phase', paintState(ink, status?.phase ?? 'Pending')],
    ['Message', status?.message],
    ['Replicas', `${status?.readyReplicas ?? 0} of ${view.replicas} ready, ${status?.updatedReplicas ?? 0} up to date`],
    ['Generation', `${metadata.generation} (seen: ${status?.observedGeneration ?? 0})`],
    ['Created', `${metadata.createdAt} (${age(metadata.createdAt, now)} ago)`],
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

/** A node: who it is, how it is, what is free on it. */
export function describeNode(node: NodeView, events: readonly EventView[], look: Look): string {
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
    ['Agent', `${node.agent.version}, heard ${age(node.agent.lastHeartbeatAt ?? undefined, now)} ago`],
    ['Labels', pairs(node.labels)],
    ['Enrolled', `${node.metadata.createdAt} (${age(node.metadata.createdAt, now)} ago)`],
  ];
  return factLines(facts, look) + history(events, look);
}

function factLines(facts: readonly Fact[], { ink }: Look): string {
  return facts
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${ink.bold(`${name}:`.padEnd(15))} ${value}\n`)
    .join('');
}

function conditions({ status }: DeploymentView, { ink, now }: Look): string {
  const rows = (status?.conditions ?? []).map(({ type, status: holds, reason, message, lastTransitionTime }) =>
    cells([type, holds, reason, age(lastTransitionTime, now), message]),
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

/** Why each node would not take it, from the newest event that said so, while that still holds. */
function scheduling({ status }: DeploymentView, events: readonly EventView[]): string {
  if (status?.phase !== 'Unschedulable') return '';
  const event = events.findLast(({ type }) => type === 'deployment.unschedulable');
  const candidates = (event?.data['candidates'] ?? []) as readonly Candidate[];
  const rows = candidates.flatMap(({ node, reasons }) =>
    reasons.map(({ filter, message }) => cells([node, filter, message])),
  );
  return section('Why no node will do', ['NODE', 'FILTER', 'REASON'], rows, text => text);
}

function history(events: readonly EventView[], { ink, now }: Look): string {
  const rows = events
    .slice(-EVENTS_SHOWN)
    .map(({ lastSeenAt, type, count, message }) => cells([age(lastSeenAt, now), type, String(count), message]));
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
