import { isDeepStrictEqual } from 'node:util';

import type { MirroredObject, MirrorRecord, SyncReport } from './mirror.js';
import { readMirrorRecord } from './mirror.js';

/** A refusal of Mooring, for the condition `Admitted`. */
export interface MirrorRejection {
  /** The code of the first rejection. */
  readonly reason: string;
  readonly message: string;
}

/** What the status is made from. */
export interface Findings {
  readonly report: SyncReport;
  /** What Mooring has. Undefined when there is nothing, or it is not known, or not the cluster's. */
  readonly mooring?: MirroredObject | undefined;
  readonly rejection?: MirrorRejection | undefined;
  /** Left out: as it was. */
  readonly record?: MirrorRecord | undefined;
}

interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

const MESSAGE_MAX = 1_000;

/**
 * The status of an object of the cluster: that of Mooring, the conditions of the bridge before those of Mooring, and what was
 * sent last. When Mooring cannot be read, what was known of it stays, and `Synced` says so.
 */
export function composeStatus(
  cluster: MirroredObject,
  findings: Findings,
  now: string,
): Readonly<Record<string, unknown>> {
  const { report, rejection, mooring } = findings;
  const generation = cluster.metadata.generation ?? 0;
  const record = findings.record ?? readMirrorRecord(cluster);
  const before = cluster.status ?? {};
  const formerly = listConditions(before);
  const at = (type: string, status: string, reason: string, message: string): StatusCondition => {
    const former = formerly.find(each => each.type === type);
    const lastTransitionTime = former?.status === status ? former.lastTransitionTime : now;
    return {
      type,
      status,
      reason,
      message: message.slice(0, MESSAGE_MAX),
      lastTransitionTime,
      observedGeneration: generation,
    };
  };
  const refusedFormerly = formerly.find(
    ({ type, status, reason, observedGeneration }) =>
      type === 'Admitted' && status === 'False' && reason === rejection?.reason && observedGeneration === generation,
  );
  const own = [
    ...(rejection
      ? // A message that says something else each time must not make the bridge try for ever.
        [refusedFormerly ?? at('Admitted', 'False', rejection.reason, rejection.message)]
      : record && report.synced === 'True'
        ? [at('Admitted', 'True', 'Admitted', 'Mooring has accepted the spec.')]
        : formerly.filter(({ type }) => type === 'Admitted')),
    at('Synced', report.synced, report.reason, report.message),
    ...(report.isConflict ? [at('Conflict', 'True', report.reason, report.message)] : []),
  ];
  const isKnown = mooring !== undefined;
  const { conditions: _conditions, observedGeneration: _observed, ...rest } = isKnown ? (mooring.status ?? {}) : before;
  const theirs = isKnown ? listConditions(mooring.status ?? {}) : formerly.filter(({ type }) => !OWN.has(type));
  const { mirror: _mirror, ...kept } = rest;
  return {
    ...kept,
    observedGeneration: generation,
    conditions: [...own, ...theirs.map(each => (isKnown ? toObserved(each, cluster, mooring, record) : each))],
    ...(record && { mirror: record }),
  };
}

const OWN: ReadonlySet<string> = new Set(['Admitted', 'Synced', 'Conflict']);

/** Generations are counted apart: a condition that Mooring gives to what was sent is one of the generation that was sent. */
function toObserved(
  condition: StatusCondition,
  cluster: MirroredObject,
  mooring: MirroredObject,
  record: MirrorRecord | undefined,
): StatusCondition {
  const generation = cluster.metadata.generation ?? 0;
  const isCurrent =
    condition.observedGeneration === undefined ||
    (record !== undefined && condition.observedGeneration >= (mooring.metadata.generation ?? 0));
  return { ...condition, observedGeneration: isCurrent ? generation : Math.max(0, generation - 1) };
}

function listConditions(status: Readonly<Record<string, unknown>>): readonly StatusCondition[] {
  const { conditions } = status;
  return Array.isArray(conditions) ? (conditions as readonly StatusCondition[]) : [];
}

/** Whether there is something to write: times alone are nothing. */
export function isSameStatus(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(toPlain(a), toPlain(b));
}

/** As it is after a way through JSON, which drops members that are undefined. */
function toPlain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? {})) as unknown;
}
