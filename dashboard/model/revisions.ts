import { stringify } from 'yaml';

import type { ArchivedRevision } from '../../crds/archive/archive.js';
import type { Action } from './actions.js';
import type { DeploymentView } from './views.js';

/** `GET /api/v1/archives/deployments/{name}`. */
export interface HistoryView {
  readonly revisions: readonly ArchivedRevision[];
}

/** What made a revision: `rollback to 3`. */
export function describeChange({ change, fromRevision, fromBackup, reason }: ArchivedRevision): string {
  const source = fromRevision === undefined ? '' : ` to ${fromRevision}`;
  const backup = fromBackup === undefined ? '' : ` of ${fromBackup}`;
  return `${change}${source}${backup}${reason === undefined ? '' : ` (${reason})`}`;
}

/** One line of two texts beside each other; a side that has none is undefined. */
export interface ComparedLine {
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly isChanged: boolean;
}

/** Lines that are the same in both texts, and of which only the number is shown. */
export interface SkippedLines {
  readonly skipped: number;
}

const CONTEXT = 3;

/** Two revisions as YAML beside each other, with the lines around what differs; empty when nothing does. */
export function compareRevisions(
  before: ArchivedRevision,
  after: ArchivedRevision,
): readonly (ComparedLine | SkippedLines)[] {
  const lines = compareLines(toLines(before.spec), toLines(after.spec));
  const near = new Set(
    lines.flatMap(({ isChanged }, at) =>
      isChanged ? Array.from({ length: 2 * CONTEXT + 1 }, (_, step) => at + step - CONTEXT) : [],
    ),
  );
  if (near.size === 0) return [];
  const shown: (ComparedLine | SkippedLines)[] = [];
  let skipped = 0;
  for (const [at, line] of lines.entries()) {
    if (!near.has(at)) {
      skipped++;
      continue;
    }
    if (skipped > 0) shown.push({ skipped });
    skipped = 0;
    shown.push(line);
  }
  return skipped > 0 ? [...shown, { skipped }] : shown;
}

function toLines(spec: object): readonly string[] {
  return stringify(spec).trimEnd().split('\n');
}

/** Both texts side by side: what is in both on one line, what was replaced beside what replaces it. */
export function compareLines(before: readonly string[], after: readonly string[]): readonly ComparedLine[] {
  const shared = countShared(before, after);
  const lines: ComparedLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ before: before[i++], after: after[j++], isChanged: false });
      continue;
    }
    const [removed, added]: [string[], string[]] = [[], []];
    while ((i < before.length || j < after.length) && !(i < before.length && before[i] === after[j])) {
      const isRemoved = j >= after.length || (i < before.length && shared[i + 1]![j]! >= shared[i]![j + 1]!);
      if (isRemoved) removed.push(before[i++]!);
      else added.push(after[j++]!);
    }
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      lines.push({ before: removed[at], after: added[at], isChanged: true });
  }
  return lines;
}

/** The length of the longest common subsequence of both, from each pair of lines on. */
function countShared(before: readonly string[], after: readonly string[]): readonly Uint32Array[] {
  const table = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const [here, below] = [table[i]!, table[i + 1]!];
      here[j] = before[i] === after[j] ? below[j + 1]! + 1 : Math.max(below[j]!, here[j + 1]!);
    }
  }
  return table;
}

/** Brings an earlier revision back, if the deployment is still as it is shown. */
export function toRollbackAction({ name, metadata }: DeploymentView, revision: number): Action {
  return {
    label: `Roll back to ${revision}`,
    method: 'POST',
    path: `/api/v1/archives/deployments/${encodeURIComponent(name)}/rollback`,
    body: { revision },
    revision: metadata.revision,
    question: `Bring revision ${revision} of ${name} back? It becomes a new revision, and containers that differ from it are replaced.`,
  };
}
