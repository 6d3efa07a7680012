import type { VolumeView } from '../../crds/volume/view.js';
import { type DeploymentStep, listSteps } from '../../crds/deployment/steps.js';
import { listRolloutActions, toNodeOrder } from './actions.js';
import {
  byWeight,
  describeJobTrouble,
  describeNetworkTrouble,
  describeRotationTrouble,
  describeVolumeTrouble,
  type Trouble,
} from './object-troubles.js';
import type { DeploymentView, ListedSecret, JobView, ShownNetwork, NodeView, Tone } from './views.js';

export type { Trouble };

/** Everything that may be wrong. */
export interface TroubleInput {
  readonly deployments: Iterable<DeploymentView>;
  readonly nodes: Iterable<NodeView>;
  readonly volumes?: readonly VolumeView[];
  readonly networks?: readonly ShownNetwork[];
  readonly jobs?: readonly JobView[];
  readonly secrets?: readonly ListedSecret[];
}

/** The steps of a deployment as its page draws them. One without a status has not been looked at. */
export function listShownSteps(deployment: DeploymentView): readonly DeploymentStep[] {
  const { status } = deployment;
  return status ? listSteps(deployment, status) : [];
}

const BAD_PHASES: readonly string[] = ['Failed', 'Unschedulable', 'Degraded'];

/** Reasons of what only waits for its turn. */
const ON_ITS_WAY: readonly string[] = ['Waiting', 'ResolutionPending'];

/** The step that keeps a deployment from being as asked, if something has to be done about it: being on the way is no trouble. */
export function findBlockedStep(steps: readonly DeploymentStep[]): DeploymentStep | undefined {
  return steps.find(({ state, reason }) => state === 'waiting' && reason !== undefined && !ON_ITS_WAY.includes(reason));
}

/** Everything that is wrong, what others may follow from first: nodes, volumes and networks before what uses them, and the worst of each. */
export function listTroubles(all: TroubleInput): readonly Trouble[] {
  const { volumes = [], networks = [], jobs = [], secrets = [] } = all;
  const nodes = [...all.nodes];
  const ofDeployments = describeAll(all.deployments, describeDeploymentTrouble);
  const ofJobs = describeAll(jobs, describeJobTrouble);
  const isPlaceless = nodes.length === 0 && ofDeployments.length + ofJobs.length > 0;
  return [
    ...(isPlaceless ? [NO_NODES] : []),
    ...describeAll(nodes, describeNodeTrouble),
    ...describeAll(volumes, describeVolumeTrouble),
    ...describeAll(networks, describeNetworkTrouble),
    ...ofDeployments,
    ...ofJobs,
    ...describeAll(secrets, describeRotationTrouble),
  ];
}

function describeAll<T>(objects: Iterable<T>, describe: (object: T) => Trouble | undefined): readonly Trouble[] {
  return [...objects].flatMap(object => describe(object) ?? []).toSorted(byWeight);
}

const NO_NODES: Trouble = {
  key: 'nodes',
  tone: 'bad',
  title: 'No machine is enrolled',
  cause: 'Nothing can be placed while the tenant has no node.',
  help: 'Enrol one: "moor nodes join-token" mints the token that "moor agent" joins with.',
  since: null,
  href: '#/nodes',
};

function describeDeploymentTrouble(deployment: DeploymentView): Trouble | undefined {
  const { name, status } = deployment;
  if (!status) return undefined;
  const isBad = BAD_PHASES.includes(status.phase);
  const step = findBlockedStep(listShownSteps(deployment));
  if (!step && !isBad) return undefined;
  return {
    key: `deployment/${name}`,
    tone: isBad ? 'bad' : 'warn',
    title: `${name} is ${status.phase.toLowerCase()}${step ? `: waiting at "${step.step}"` : ''}`,
    ...(step?.reason !== undefined && { reason: step.reason }),
    cause: step?.error ?? step?.detail ?? status.message,
    help: step?.next ?? `"moor explain deployment ${name}" says why, node by node.`,
    since: step?.since ?? null,
    href: `#/deployments/${encodeURIComponent(name)}`,
    ...((status.canary || deployment.rollout?.paused) && { actions: listRolloutActions(deployment) }),
  };
}

function describeNodeTrouble({
  name,
  status,
  schedulable,
  conditions = [],
  unobservedSince,
}: NodeView): Trouble | undefined {
  const broken = conditions.find(condition => condition.status === 'False');
  const isDown = status === 'failed' || status === 'unready';
  if (!isDown && !broken && status !== 'draining') return undefined;
  return {
    key: `node/${name}`,
    tone: isDown || broken ? 'bad' : 'warn',
    title: `Node ${name} is ${status}`,
    ...(broken && { reason: broken.reason }),
    cause: broken?.message ?? schedulable.reason,
    help:
      status === 'draining'
        ? `It takes no work and is emptied; "moor nodes undrain ${name}" ends that.`
        : `Look at the agent on the machine; "moor describe node ${name}" shows what is known of it.`,
    since: unobservedSince ?? null,
    href: `#/nodes/${encodeURIComponent(name)}`,
    ...(status === 'draining' && { actions: [toNodeOrder(name, 'End the drain', 'undrain')] }),
  };
}

const PHASE_TONES: Readonly<Record<string, Tone>> = {
  Running: 'good',
  Pending: 'busy',
  Progressing: 'busy',
  Deleting: 'busy',
  Waiting: 'warn',
  Stopped: 'quiet',
};

/** How a phase of a deployment is shown. */
export function getPhaseTone(phase: string): Tone {
  return PHASE_TONES[phase] ?? 'bad';
}

const NODE_TONES: Readonly<Record<string, Tone>> = { ready: 'good', joining: 'busy', draining: 'warn' };

/** How the status of a node is shown. */
export function getNodeTone(status: string): Tone {
  return NODE_TONES[status] ?? 'bad';
}
