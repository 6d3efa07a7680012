import { getStatedReplicas } from '../../crds/deployment/stated-replicas.js';
import type { DeploymentView } from './views.js';

export type DeploymentColumn = 'name' | 'phase' | 'ready' | 'image' | 'restarts' | 'age';

/** How a list is ordered. */
export interface SortOrder {
  readonly column: DeploymentColumn;
  readonly isDescending: boolean;
}

/** One row of the list, with what it is sorted and filtered by. */
export interface DeploymentRow {
  readonly name: string;
  readonly phase: string;
  readonly message: string;
  readonly ready: number;
  readonly wanted: number;
  readonly image: string;
  readonly restarts: number;
  readonly createdAt: string;
}

export function toDeploymentRow(deployment: DeploymentView): DeploymentRow {
  const { name, image, replicas, status, metadata } = deployment;
  return {
    name,
    image,
    phase: status?.phase ?? 'Pending',
    message: status?.message ?? 'accepted; not reconciled yet',
    ready: status?.readyReplicas ?? 0,
    wanted: getStatedReplicas({ replicas, ...(status && { status }) }),
    restarts: (status?.placements ?? []).reduce((sum, placement) => sum + placement.restarts, 0),
    createdAt: metadata.createdAt,
  };
}

/** The worst first. */
const PHASES = [
  'Failed',
  'Unschedulable',
  'Degraded',
  'Waiting',
  'Pending',
  'Progressing',
  'Deleting',
  'Running',
  'Stopped',
];

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
const COMPARE: Readonly<Record<DeploymentColumn, (a: DeploymentRow, b: DeploymentRow) => number>> = {
  name: () => 0,
  phase: (a, b) => PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase),
  ready: (a, b) => share(a) - share(b),
  image: (a, b) => compareText(a.image, b.image),
  restarts: (a, b) => b.restarts - a.restarts,
  age: (a, b) => compareText(b.createdAt, a.createdAt),
};

function share({ ready, wanted }: DeploymentRow): number {
  return wanted === 0 ? 1 : ready / wanted;
}

/** The rows in order; those that are equal by their names, so that nothing moves without a reason. */
export function sortRows(
  rows: readonly DeploymentRow[],
  { column, isDescending }: SortOrder,
): readonly DeploymentRow[] {
  const sign = isDescending ? -1 : 1;
  return rows.toSorted(
    (a, b) =>
      sign * (COMPARE[column](a, b) || (column === 'name' ? compareText(a.name, b.name) : 0)) ||
      compareText(a.name, b.name),
  );
}

/** Whether it comes before what runs: it is not as asked yet, or not any more. */
const isAmiss = ({ phase }: DeploymentRow) => PHASES.indexOf(phase) < PHASES.indexOf('Running');

/**
 * The rows as they stood, with what they say now, so that none moves while someone reads: what is new comes last, or first where it
 * does not run, and what is gone leaves. Nothing stood before: as they are sorted.
 */
export function holdOrder(
  stood: readonly string[] | undefined,
  sorted: readonly DeploymentRow[],
): readonly DeploymentRow[] {
  if (!stood) return sorted;
  const now = new Map(sorted.map(row => [row.name, row]));
  const kept = stood.flatMap(name => now.get(name) ?? []);
  const known = new Set(stood);
  const added = sorted.filter(({ name }) => !known.has(name));
  return [...added.filter(isAmiss), ...kept, ...added.filter(row => !isAmiss(row))];
}

/** What the button says that sorts again, and how many of the rows beyond those that are drawn should be seen. */
export function describeHeldOrder(
  rows: readonly DeploymentRow[],
  shown: number,
): { readonly hidden: number; readonly text: string } {
  const hidden = rows.slice(shown).filter(isAmiss).length;
  if (hidden === 0) return { hidden, text: 'Sort again: something has changed' };
  const subject = hidden === 1 ? '1 that is not running is' : `${hidden} that are not running are`;
  return { hidden, text: `${subject} not shown: sort again` };
}

/** The rows that have every word of a text in their name, phase, image or message. */
export function filterRows(rows: readonly DeploymentRow[], text: string): readonly DeploymentRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter(({ name, phase, image, message }) => {
    const all = `${name} ${phase} ${image} ${message}`.toLowerCase();
    return words.every(word => all.includes(word));
  });
}
