import {
  type DeploymentStatus,
  type DeploymentStep,
  listSteps,
  type StoredDeployment,
} from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { findReason } from '../../crds/reasons/index.js';

/** Everything that Mooring says of one deployment at one moment. */
export interface DeploymentSurfaces {
  readonly deployment: StoredDeployment & { readonly status: DeploymentStatus };
  /** Of the store, before and after everything else was read. */
  readonly revision: string;
  readonly explanation: ExplanationView;
  /** In the order in which they were written, the newest last. */
  readonly events: readonly StoredEvent[];
  /** What the command line prints. */
  readonly printed: { readonly status: string; readonly describe: string; readonly explain: string };
}

/** The answer of the API to "why is it not as asked". */
export interface ExplanationView {
  readonly revision: string;
  readonly phase: string;
  readonly message: string;
  readonly steps: readonly DeploymentStep[];
  readonly unplaced: number;
  readonly able: number;
  readonly summary: string;
  readonly candidates: readonly { readonly reasons: readonly { readonly filter: string }[] }[];
}

/** Types of events that tell of a phase, and the phases that they are true of. */
const TRUE_OF: Readonly<Record<string, readonly string[]>> = {
  'deployment.running': ['Running'],
  'deployment.recovered': ['Running'],
  'deployment.rollout_completed': ['Running'],
  'deployment.rollout_failed': ['Failed'],
  // It tells of another revision, whatever becomes of that; one that fails in turn says so.
  'deployment.rolled_back': ['Pending', 'Progressing', 'Running', 'Degraded', 'Waiting', 'Unschedulable', 'Stopped'],
  'deployment.progressing': ['Progressing', 'Pending'],
  // A rollout that misses its deadline while replicas fail has an event of its own.
  'deployment.degraded': ['Degraded', 'Failed'],
  'deployment.stopped': ['Stopped'],
  'deployment.waiting': ['Waiting'],
  // Of a deployment whose rollout has failed it is told too, when its node is lost afterwards: its condition says so.
  'deployment.unschedulable': ['Unschedulable', 'Waiting', 'Failed'],
};

/** What contradicts what, in words. Nothing when all of it can be true at once. */
export function findContradictions(told: DeploymentSurfaces): readonly string[] {
  return [
    ...compareRevisions(told),
    ...compareTexts(told),
    ...compareSteps(told),
    ...compareNodes(told),
    ...compareReplicas(told),
    ...compareRollout(told),
    ...compareEvents(told),
    ...findUnknown(told),
  ];
}

function compareRevisions({ revision, explanation }: DeploymentSurfaces): readonly string[] {
  const isOne = explanation.revision === revision;
  return isOne ? [] : [`the explanation is of revision ${explanation.revision}, everything else of ${revision}`];
}

function compareTexts({ deployment: { status }, explanation, printed }: DeploymentSurfaces): readonly string[] {
  const { phase, message } = status;
  return [
    ...(explanation.phase === phase ? [] : [`the status is ${phase}, the explanation says ${explanation.phase}`]),
    ...(explanation.message === message
      ? []
      : [`the status says "${message}", the explanation "${explanation.message}"`]),
    ...Object.entries(printed).flatMap(([command, text]) =>
      text.includes(phase) && text.includes(message) ? [] : [`${command} does not print ${phase}: "${message}"`],
    ),
  ];
}

function compareSteps({ deployment, explanation }: DeploymentSurfaces): readonly string[] {
  const own = listSteps(deployment, deployment.status).map(({ step, state }) => `${step} ${state}`);
  const told = explanation.steps.map(({ step, state }) => `${step} ${state}`);
  return [
    ...(own.join() === told.join() ? [] : [`describe has the steps ${own.join()}, explain ${told.join()}`]),
    ...findStepContradictions(deployment.status, explanation.steps),
  ];
}

/** Whether the steps say what the phase says. */
function findStepContradictions(status: DeploymentStatus, steps: readonly DeploymentStep[]): readonly string[] {
  // What runs is as asked while a credential of it is rotated.
  const waiting = steps.flatMap(({ step, state }) => (state === 'waiting' && step !== 'rotated' ? [step] : []));
  const isSettled = (status.phase === 'Running' || status.phase === 'Stopped') && !isLeaving(status);
  return [
    ...(isSettled && waiting.length > 0 ? [`it is ${status.phase}, and waits at ${waiting.join()}`] : []),
    ...(!isSettled && waiting.length === 0 ? [`it is ${status.phase}, and waits at no step`] : []),
    ...(status.phase === 'Unschedulable' && !waiting.includes('placed') ? ['it is Unschedulable, and is placed'] : []),
  ];
}

/** Whether containers are left to remove: what is wanted may run by then, and its rollout is not complete. */
function isLeaving({ placements }: DeploymentStatus): boolean {
  return placements.some(({ state }) => state === 'stopping' || state === 'removed');
}

function compareNodes({ deployment: { status, metadata }, explanation }: DeploymentSurfaces): readonly string[] {
  const { unplaced, able, summary, candidates } = explanation;
  const unplacedInStatus = status.placements.filter(({ state }) => state === 'unplaced').length;
  const refused = candidates.filter(({ reasons }) => reasons.length > 0).length;
  const counts = [...summary.matchAll(/(?:: |, )(\d+) /g)].map(([, count]) => Number(count));
  const refusal = status.conditions.find(({ type, reason }) => type === 'Placed' && reason === 'Unschedulable');
  const isRefused = refusal !== undefined;
  // A rollout that has failed says what it failed of, as it was then: what holds now is in the condition.
  const said = status.phase === 'Failed' ? refusal?.message : status.message;
  return [
    ...(unplaced === unplacedInStatus
      ? []
      : [`the status has ${unplacedInStatus} without a node, the explanation ${unplaced}`]),
    ...(able + refused === candidates.length
      ? []
      : [`${able} nodes take it, ${refused} refuse, there are ${candidates.length}`]),
    ...(counts.reduce((sum, count) => sum + count, 0) === refused
      ? []
      : [`"${summary}" does not add up to ${refused}`]),
    ...(isRefused && metadata.deletedAt === undefined && (unplaced === 0 || able > 0 || !said?.startsWith(summary))
      ? [`the status says "${said}", the nodes "${summary}" to ${unplaced} replicas`]
      : []),
    ...(!isRefused && unplaced > 0 && able === 0 && metadata.deletedAt === undefined
      ? ['no node takes a replica that waits, and the status does not say so']
      : []),
  ];
}

/** What is said of single replicas, of rotations and of filters: the same everywhere, and nothing of containers that nobody sees. */
function compareReplicas({
  deployment: { status, metadata },
  explanation,
  printed,
}: DeploymentSurfaces): readonly string[] {
  const { placements, conditions, refusedBy } = status;
  const problems = placements.flatMap(({ message }) => message ?? []);
  const shown = Object.entries({ status: printed.status, describe: printed.describe });
  const isSaid = conditions.flatMap(({ type, message }) =>
    type === 'Rotating' || type === 'Stalled' ? [message] : [],
  );
  const refusing = new Set(explanation.candidates.flatMap(({ reasons }) => reasons.map(({ filter }) => filter)));
  const isRefused = refusedBy !== undefined && metadata.deletedAt === undefined;
  return [
    ...shown.flatMap(([command, text]) =>
      problems.filter(problem => !text.includes(problem)).map(problem => `${command} does not print "${problem}"`),
    ),
    ...isSaid.filter(text => !printed.describe.includes(text)).map(text => `describe does not print "${text}"`),
    ...(['readyReplicas', 'updatedReplicas'] as const)
      .filter(count => status[count] > status.replicas)
      .map(count => `${status[count]} ${count} of ${status.replicas} replicas`),
    ...placements
      .filter(({ state, health }) => state === 'unknown' && health === 'healthy')
      .map(({ replica }) => `replica ${replica} is unknown, and healthy`),
    ...placements
      .filter(({ nodeId, nodeName }) => nodeId !== null && nodeName === undefined)
      .map(({ replica }) => `the node of replica ${replica} has no name`),
    ...(isRefused && refusedBy.toSorted().join() !== [...refusing].toSorted().join()
      ? [`the status is refused by ${refusedBy.join()}, the nodes refuse by ${[...refusing].join()}`]
      : []),
  ];
}

const CANARY_EVENTS = ['canary_started', 'canary_promoted', 'canary_aborted'].map(word => `deployment.${word}`);

/** What is said of a rollout and of its canary, which begins with an event and ends with another. */
function compareRollout({ deployment: { status, metadata }, events, printed }: DeploymentSurfaces): readonly string[] {
  const { rollout, canary, phase } = status;
  if (metadata.deletedAt !== undefined) return [];
  const ofCanary = events.findLast(({ type }) => CANARY_EVENTS.includes(type))?.type;
  const isUnfinished = rollout !== undefined && rollout.state !== 'complete' && rollout.state !== 'paused';
  const texts = [canary?.waitsFor, rollout?.waitsFor, phase === 'Failed' ? rollout?.failure?.message : undefined];
  return [
    ...(canary && ofCanary !== 'deployment.canary_started' ? [`it has a canary, and its event is ${ofCanary}`] : []),
    ...(canary && rollout?.state === 'complete' ? ['it has a canary, and its rollout is complete'] : []),
    ...(phase === 'Failed' && rollout?.state !== 'failed'
      ? [`it has failed, and its rollout is ${rollout?.state}`]
      : []),
    ...(phase === 'Running' && isUnfinished && !isLeaving(status)
      ? [`it is Running, and its rollout is ${rollout.state}`]
      : []),
    ...texts
      .filter(text => text !== undefined && !printed.describe.includes(text))
      .map(text => `describe does not print "${text}"`),
  ];
}

function compareEvents({ deployment: { status, metadata }, events }: DeploymentSurfaces): readonly string[] {
  if (metadata.deletedAt !== undefined) return [];
  const newest = events.findLast(({ type }) => type in TRUE_OF);
  if (!newest) return [];
  if (!isTrueOf(newest.type, status.phase)) {
    return [`it is ${status.phase}, and its newest event is ${newest.type} (${newest.reason})`];
  }
  if (newest.type !== 'deployment.degraded') return [];
  const given = [...status.placements, ...status.conditions].map(({ reason }) => reason as string | undefined);
  return given.includes(newest.reason) ? [] : [`its newest event is about ${newest.reason}, and its status is not`];
}

/** Whether an event of this type can be told of a deployment in this phase. Others than those about phases always can. */
export function isTrueOf(type: string, phase: string): boolean {
  return TRUE_OF[type]?.includes(phase) ?? true;
}

function findUnknown({ deployment: { status }, explanation, events }: DeploymentSurfaces): readonly string[] {
  const given = [...status.conditions, ...status.placements, ...explanation.steps, ...events].flatMap(
    ({ reason }) => reason ?? [],
  );
  return [...new Set(given)].filter(word => !findReason(word)).map(word => `"moor explain ${word}" knows nothing`);
}
