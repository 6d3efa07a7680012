import { type DeploymentStatus, getStatedReplicas } from '../../../crds/deployment/index.js';
import type { Client } from '../../client/index.js';
import { exitCode, UsageFault } from '../exit-code.js';
import {
  deployments,
  events,
  findKind,
  type CellContext,
  jobs,
  networks,
  nodes,
  formatPairs,
  volumes,
} from '../kinds.js';
import { formatCanary, formatRollout, formatScaling } from '../print/rollout-text.js';
import { type Fact, formatEvents, formatFacts, formatSection } from '../print/sections.js';
import { choosePaint, formatAge } from '../print/text.js';
import type { Command } from '../session.js';
import type { VolumeView } from '../../../crds/volume/index.js';
import { describeNode, type NodeReplicasView } from './describe-node.js';
import { describeJob } from './describe-job.js';
import { describeNetwork, type NetworkView } from './networks.js';
import { describeVolume } from './volumes.js';
import { formatReplicaStatuses } from './describe-replicas.js';
import { listLifeFacts, listPlacementFacts } from './describe-spec.js';
import { formatFailure } from './rollout.js';
import { formatFilterRemedies, formatSteps, listNodeReasons } from './describe-steps.js';
import type { CandidateView, DeploymentView, EventView, JobView, NodeView } from '../views.js';

interface DescribeInput {
  readonly kind: string;
  readonly name: string;
  /** Shows events of earlier objects of the same name too. */
  readonly predecessors?: boolean;
}

/** Shows one object with its conditions, placements and events. */
export const describe: Command<DescribeInput> = async (session, { kind: word, name, predecessors }) => {
  const kind = findKind(word);
  if (![deployments.path, nodes.path, jobs.path, networks.path, volumes.path].includes(kind.path)) {
    throw new UsageFault(
      `"moor describe" does not describe ${kind.names[1] ?? word}: "moor get ${word}" shows everything.`,
    );
  }
  const client = await session.connect();
  const path = `${kind.path}/${encodeURIComponent(name)}`;
  const answer = await client.request<DeploymentView | NodeView | JobView | NetworkView | VolumeView>('GET', path);
  if (!answer.ok) return session.reportRejection(answer);

  const { name: found, metadata } = answer.value;
  const recent = await fetchEvents(client, predecessors ? `${kind.kind}/${found}` : metadata.uid);
  const look = { now: session.terminal.clock.now(), ink: session.ink };
  if (kind.path === jobs.path) {
    const view = answer.value as JobView;
    const { state, nodeId } = view.status.history.at(-1) ?? {};
    const isUnplaced = state === 'Pending' && nodeId === undefined;
    session.terminal.out(describeJob(view, recent, await fetchCandidates(client, path, isUnplaced), look));
  } else if (kind.path === networks.path) {
    session.terminal.out(describeNetwork(answer.value as NetworkView, recent, look));
  } else if (kind.path === volumes.path) {
    session.terminal.out(describeVolume(answer.value as VolumeView, recent, look));
  } else if (kind.path === nodes.path) {
    const replicas = await client.request<NodeReplicasView>('GET', `${path}/replicas`);
    if (!replicas.ok) return session.reportRejection(replicas);
    session.terminal.out(describeNode(answer.value as NodeView, replicas.value, recent, look));
  } else {
    const view = answer.value as DeploymentView;
    const nodeName = await loadNodeNames(client);
    const isUnplaced = view.status?.placements.some(({ nodeId, state }) => nodeId === null && state === 'unplaced');
    const candidates = await fetchCandidates(client, path, isUnplaced ?? false);
    session.terminal.out(describeDeployment(view, recent, candidates, { ...look, nodeName }));
  }
  return exitCode.ok;
};

async function fetchEvents(client: Client, subject: string): Promise<readonly EventView[]> {
  const answer = await client.all<EventView>(events.path, { query: { subject } });
  if (!answer.ok) return [];
  // In the order in which they were stored: two writers may have read the clock in the other order.
  return answer.value.items.toSorted(
    (a, b) => Number(a.revision ?? 0) - Number(b.revision ?? 0) || a.lastSeenAt.localeCompare(b.lastSeenAt),
  );
}

/** What every node says to one more replica, as of now, while some replica has no node. */
async function fetchCandidates(client: Client, path: string, isUnplaced: boolean): Promise<readonly CandidateView[]> {
  if (!isUnplaced) return [];
  const answer = await client.request<{ readonly candidates: readonly CandidateView[] }>('GET', `${path}/explain`);
  return answer.ok ? answer.value.candidates : [];
}

/** Maps ids of nodes to names. A node that is gone, or may not be seen, keeps its id. */
export async function loadNodeNames(client: Client): Promise<(id: string) => string> {
  const answer = await client.all<NodeView>(nodes.path);
  const names = new Map(answer.ok ? answer.value.items.map(({ id, name }) => [id, name]) : []);
  return id => names.get(id) ?? id;
}

type DeploymentContext = CellContext & { readonly nodeName: (id: string) => string };

/** A deployment: its spec, its status, its placements and its events. */
function describeDeployment(
  view: DeploymentView,
  events: readonly EventView[],
  candidates: readonly CandidateView[],
  look: DeploymentContext,
): string {
  const { metadata, status, ports = [], environment = {}, resources = {} } = view;
  const { limits, ...requests } = resources;
  const { ink, now } = look;
  const phase = status?.phase ?? 'Pending';
  const facts: readonly Fact[] = [
    ['Name', view.name],
    ['Uid', metadata.uid],
    ['Phase', phase, choosePaint(ink, phase)],
    ['Message', status?.message],
    [
      'Replicas',
      `${status?.readyReplicas ?? 0} of ${getStatedReplicas(view)} ready, ${status?.updatedReplicas ?? 0} up to date`,
    ],
    ['Scaling', status?.scaling && formatScaling(status.scaling)],
    ['Generation', `${metadata.generation} (observed: ${status?.observedGeneration ?? 0})`],
    ['Created', `${metadata.createdAt} (${formatAge(metadata.createdAt, now)} ago)`],
    ['Image', view.image],
    ['Entrypoint', view.entrypoint?.join(' ')],
    ['Command', view.command?.join(' ')],
    ['Node', view.nodeId && nameSpecNode(view.nodeId, status?.placements ?? [], look)],
    [
      'Ports',
      ports.map(port => `${port.hostPort ? `${port.hostPort}:` : ''}${port.containerPort}/${port.protocol}`).join(', '),
    ],
    ['Requests', resources && formatPairs(requests as Record<string, string>)],
    ['Limits', limits && formatPairs(limits as Record<string, string>)],
    ['User', view.user],
    ['Root file system', view.readOnlyRootFilesystem ? 'read-only' : undefined],
    ...listLifeFacts(view),
    ['Environment', formatPairs(environment)],
    ...listPlacementFacts(view),
    ['Labels', formatPairs(view.labels ?? {})],
    ['Rollout', status?.rollout && formatRollout(status.rollout)],
    ['Canary', status?.canary && formatCanary(status.canary)],
    ['Rotation', status?.conditions.find(({ type }) => type === 'Rotating')?.message],
  ];
  const failure = formatFailure(view.name, status ?? {});
  return [
    formatFacts(facts, look),
    failure && `\n${ink.bold('Failed rollout:')}\n${failure}`,
    formatSteps(view, look),
    formatConditions(view, look),
    formatReplicaStatuses(status, { ...look, deployment: view.name }),
    formatSection('Why no node fits', ['NODE', 'FILTER', 'REASON'], listNodeReasons(candidates), ink.bold),
    formatFilterRemedies(candidates, view.name),
    formatEvents(events, look),
  ].join('');
}

/** The node that a deployment names; of one that was deleted, the name that its replicas knew. */
function nameSpecNode(id: string, placements: DeploymentStatus['placements'], look: DeploymentContext): string {
  const found = look.nodeName(id);
  if (found !== id) return found;
  const { nodeName } = placements.find(({ nodeId }) => nodeId === id) ?? {};
  return nodeName === undefined ? id : `${nodeName} (${id}, deleted)`;
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
