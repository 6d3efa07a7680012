import { type DeploymentStatus, getStatedReplicas, type DeploymentView } from '../../../crds/deployment/index.js';
import { type CellContext, formatPairs } from '../kinds.js';
import { formatCanary, formatRollout, formatScaling } from '../../../crds/deployment/rollout-text.js';
import { type Fact, formatConditions, formatEvents, formatFacts, formatSection } from '../print/sections.js';
import { choosePaint } from '../print/text.js';
import { formatAge } from '../../../crds/grammar/index.js';
import type { CandidateView } from '../../../crds/scheduling/index.js';
import type { EventView } from '../../../crds/event/index.js';
import { type DescribeEnv, fetchCandidates, loadNodeNames } from './describe-env.js';
import { formatFailure, formatReplicaStatuses } from './describe-replicas.js';
import { listLifeFacts, listPlacementFacts } from './describe-spec.js';
import { formatFilterRemedies, formatSteps, listNodeReasons } from './describe-steps.js';

type DeploymentContext = CellContext & { readonly nodeName: (id: string) => string };

/** A deployment: its spec, its status, its placements and its events. */
export async function describeDeployment(view: DeploymentView, env: DescribeEnv): Promise<string> {
  const isUnplaced = view.status?.placements.some(({ nodeId, state }) => nodeId === null && state === 'unplaced');
  const nodeName = await loadNodeNames(env.client);
  const candidates = await fetchCandidates(env, isUnplaced ?? false);
  return formatDeployment(view, env.events, candidates, { ...env.look, nodeName });
}

function formatDeployment(
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
    formatConditions(status?.conditions ?? [], look),
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
