import { formatBytes, formatCores, formatAge } from '../../../crds/grammar/index.js';
import { describeFeatures, type NodeView } from '../../../crds/node/index.js';
import type { RejectionAnswer } from '../../client/index.js';
import { type CellContext, formatPairs } from '../kinds.js';
import { type Fact, formatEvents, formatFacts, formatSection } from '../print/sections.js';
import { choosePaint } from '../print/text.js';
import type { DescribeEnv } from './describe-env.js';

/** What is placed on a node, as its agent last reported it. */
export interface NodeReplicasView {
  readonly items: readonly NodeReplica[];
  readonly lastReportAt: string | null;
}

interface NodeReplica {
  readonly deployment: string;
  readonly replica: number;
  readonly image: string;
  readonly resources: { readonly cpu?: string; readonly memory?: string };
  readonly hostPorts: readonly { readonly hostPort: number; readonly protocol?: string }[];
  readonly state: string;
  readonly health: string;
  readonly restarts: number;
  readonly message: string | null;
  readonly reportedAt: string | null;
  readonly retiringSince: string | null;
}

/** A node: its identity, its status and conditions, what runs on it, and its events. */
export async function describeNode(
  node: NodeView,
  { client, path, events, look }: DescribeEnv,
): Promise<string | RejectionAnswer> {
  const replicas = await client.request<NodeReplicasView>('GET', `${path}/replicas`);
  if (!replicas.ok) return replicas;
  const { items, lastReportAt } = replicas.value;
  const { ink, now } = look;
  const ago = (at: string | null | undefined) => (at ? `${at} (${formatAge(at, now)} ago)` : 'never');
  const facts: readonly Fact[] = [
    ['Name', node.name],
    ['Id', node.id],
    ['Status', node.status, choosePaint(ink, node.status)],
    [
      'Schedulable',
      `${node.schedulable.value ? 'yes' : 'no'}${node.schedulable.reason ? `: ${node.schedulable.reason}` : ''}`,
    ],
    ['Control plane', node.controlPlane ? 'yes' : 'no'],
    ['CPU', `${formatCores(node.free.cpu)} of ${formatCores(node.capacity.cpu)} cores free`],
    ['Memory', `${formatBytes(node.free.memory)} of ${formatBytes(node.capacity.memory)} free`],
    ['Disk', formatBytes(node.capacity.disk)],
    ['Agent', node.agent.version],
    ['Engine', node.engine ? `${node.engine.name} ${node.engine.version}` : undefined],
    ['Volume address', node.volumeAddress ?? undefined],
    ['Volume driver', node.volumeDriver ?? undefined],
    ['Lacks', node.lacks?.length ? describeFeatures(node.lacks) : undefined],
    ['Last heartbeat', ago(node.agent.lastHeartbeatAt)],
    ['Last report', ago(lastReportAt)],
    ['Labels', formatPairs(node.labels)],
    ['Enrolled', ago(node.metadata.createdAt)],
  ];
  const runs = items.length === 0 ? `${ink.bold('Replicas:'.padEnd(15))} none\n` : formatReplicas(items, look);
  const stands = formatFacts(facts, look) + formatNodeConditions(node, look) + runs;
  return stands + formatRemovals(node, look) + formatEvents(events, look);
}

function formatRemovals({ removedVolumes }: NodeView, { ink }: CellContext): string {
  const { volumes = [], more = 0 } = removedVolumes ?? {};
  const rows = volumes.map(({ name, volume = '-', bytes, until }) => [name, volume, formatBytes(bytes), until]);
  const title = `Removed volumes that are still on its disk${more > 0 ? ` (and ${more} more)` : ''}`;
  return formatSection(title, ['NAME', 'VOLUME', 'SIZE', 'KEPT UNTIL'], rows, ink.bold);
}

function formatNodeConditions({ conditions = [] }: NodeView, { ink }: CellContext): string {
  const rows = conditions.map(({ type, status, reason, message }) => [type, status, reason, message]);
  return formatSection('Conditions', ['TYPE', 'STATUS', 'REASON', 'MESSAGE'], rows, ink.bold);
}

const TITLES = [
  'DEPLOYMENT',
  'REPLICA',
  'STATE',
  'HEALTH',
  'RESTARTS',
  'CPU',
  'MEMORY',
  'HOST PORTS',
  'REPORTED',
  'MESSAGE',
];

function formatReplicas(items: readonly NodeReplica[], { ink, now }: CellContext): string {
  const rows = items.map(item => [
    item.deployment,
    String(item.replica),
    item.state,
    item.health,
    String(item.restarts),
    item.resources.cpu ?? '-',
    item.resources.memory ?? '-',
    item.hostPorts.map(({ hostPort, protocol }) => `${hostPort}/${protocol ?? 'tcp'}`).join(', ') || '-',
    item.reportedAt === null ? 'never' : formatAge(item.reportedAt, now),
    item.message ?? (item.retiringSince === null ? '' : 'is to be removed'),
  ]);
  return formatSection('Replicas', TITLES, rows, ink.bold);
}
