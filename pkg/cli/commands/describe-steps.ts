import {
  createInitialStatus,
  type DeploymentStep,
  listSteps,
  listWaitingSteps,
  type DeploymentView,
} from '../../../crds/deployment/index.js';
import { formatRemedy } from '../../../crds/reasons/index.js';
import type { CellContext } from '../kinds.js';
import { formatSection } from '../print/sections.js';
import { choosePaint, stripControls } from '../print/text.js';
import { formatAge } from '../../../crds/grammar/index.js';
import type { CandidateView, Holder } from '../../../crds/scheduling/index.js';

/** The way of a deployment, step by step; below it, of each step that waits, the last error and what to do. */
export function formatSteps(view: DeploymentView, look: CellContext): string {
  return formatStepList(listSteps(view, view.status ?? createInitialStatus()), look);
}

/** The same for steps that the server has listed. */
export function formatStepList(steps: readonly DeploymentStep[], { ink, now }: CellContext): string {
  const rows = steps.map(({ step, state, since, detail }) => [
    step,
    { text: state, paint: choosePaint(ink, state) },
    formatAge(since ?? undefined, now),
    detail,
  ]);
  const remarks = listWaitingSteps(steps).flatMap(step => formatRemarks(step).map(line => `  ${line}\n`));
  return formatSection('Steps', ['STEP', 'STATE', 'SINCE', 'DETAIL'], rows, ink.bold) + remarks.join('');
}

function formatRemarks({ step, reason, error, next }: DeploymentStep): readonly string[] {
  return [
    ...(error === undefined ? [] : [`${step}: last error: ${error}`]),
    ...(next === undefined ? [] : [`${step}: what to do${reason === undefined ? '' : ` (${reason})`}: ${next}`]),
  ].map(stripControls);
}

/** The steps that wait, for the short status: `waits at placed for 3m: 0 of 2 nodes: 2 anti_affinity`. */
export function formatWaiting(view: DeploymentView, { ink, now }: CellContext): string {
  const waiting = listWaitingSteps(listSteps(view, view.status ?? createInitialStatus()));
  return waiting
    .map(step => {
      const since = step.since === null ? '' : ` for ${formatAge(step.since, now)}`;
      const remarks = formatRemarks(step).map(line => `    ${ink.dim(line)}\n`);
      return `  ${ink.yellow(`waits at ${step.step}${since}`)}: ${stripControls(step.detail)}\n${remarks.join('')}`;
    })
    .join('');
}

/** Why each node takes no further replica, and who is in the way: rows of node, filter and reason. */
export function listNodeReasons(candidates: readonly CandidateView[]): readonly (readonly string[])[] {
  return candidates.flatMap(({ node, reasons }) =>
    reasons.map(({ filter, message, inTheWay = [] }) => {
      const holders = inTheWay.length === 0 ? '' : `; in the way: ${inTheWay.map(formatHolder).join(', ')}`;
      return [node, filter, `${message}${holders}`];
    }),
  );
}

/** What can be done about each filter that refuses a node, one line each. */
export function formatFilterRemedies(candidates: readonly CandidateView[], deployment: string): string {
  const filters = new Set(candidates.flatMap(({ reasons }) => reasons.map(({ filter }) => filter)));
  return [...filters]
    .flatMap(filter => {
      const remedy = formatRemedy(filter, deployment);
      return remedy === undefined ? [] : [`  ${filter}: what to do: ${remedy}\n`];
    })
    .join('');
}

function formatHolder({ deployment, job, replica, attempt, node, holds, isLeaving }: Holder): string {
  const owner = job === undefined ? `${deployment}` : `job ${job}`;
  const which = replica === undefined ? undefined : `replica ${replica}`;
  const part = attempt === undefined ? which : `attempt ${attempt}`;
  const who = part === undefined ? owner : `${part} of ${owner}`;
  const notes = [holds, node === undefined ? '' : `on ${node}`, isLeaving ? 'being removed' : ''].filter(Boolean);
  return notes.length === 0 ? who : `${who} (${notes.join(', ')})`;
}
