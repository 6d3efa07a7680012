/**
 * A report: one container as a node's agent sees it, at `reports/<tenant>/<nodeId>/<replica uid>`.
 *
 * A report is an observation and decides nothing; its readers compare it with the desired state.
 *
 *     const checked = checkReportBatch(document);
 *     if (isReady(report)) …
 *
 * Whether a report is about a replica of the node that sent it is for the API to ask.
 *
 * @module
 */
import { Type } from 'typebox';
import { annotate, createBodyCheck, type CheckResult } from '../rule/index.js';
import type { PullProgress } from './pull.js';
import type { RetrySchedule } from './retry.js';

export { isPullNews, type PullProgress, type LastPullReport } from './pull.js';
export { findNextRetry, type RetrySchedule } from './retry.js';

/** `removed` is the agent's word that no container of this replica exists any more. */
export type ContainerState = 'pulling' | 'creating' | 'running' | 'exited' | 'failed' | 'stopping' | 'removed';

/** `none` means that no health check was declared: running is then all that is asked. */
export type ContainerHealth = 'none' | 'starting' | 'healthy' | 'unhealthy';

/**
 * How a container ended last, and what it wrote at the end. The agent has removed the values of the container's secrets
 * from the output; a user who may read this may read the log of the container as well.
 */
export interface ContainerEnd {
  readonly exitCode: number;
  readonly at: string;
  /** The kernel killed it, because it reached its memory limit. */
  readonly oomKilled?: true;
  /** The last lines of its log. */
  readonly output?: string;
  /** There was output, but it could not be cleared of secret values. */
  readonly isWithheld?: true;
}

/** The last health check of a container, when it failed. */
export interface FailedCheck {
  readonly exitCode: number;
  readonly at: string;
  /** It was killed because it did not end in time. */
  readonly timedOut?: true;
  readonly output?: string;
  readonly isWithheld?: true;
  /** The last lines of the log of the container itself, read when it had become unhealthy. */
  readonly log?: string;
  readonly isLogWithheld?: true;
}

/** `reports/<tenant>/<nodeId>/<replica uid>`. */
export interface Report {
  readonly replica: string;
  readonly deployment: string;
  readonly slot: number;
  readonly nodeId: string;
  readonly templateHash: string;
  readonly state: ContainerState;
  readonly health: ContainerHealth;
  readonly restarts: number;
  readonly containerId?: string;
  /** While it does not do its work: the name by which people find it on its machine. */
  readonly containerName?: string;
  readonly exitCode?: number;
  /** One word for programs when something is wrong: a `Reason`, or the word of an agent of another release. */
  readonly reason?: string;
  /** For people. Never holds output of the container: it might hold a secret. */
  readonly message?: string;
  /** Since when the container has been in this state. */
  readonly since?: string;
  /** When the container of an attempt of a job was started. */
  readonly startedAt?: string;
  /** The user that the container runs as, from its image or the deployment; empty: root. */
  readonly user?: string;
  readonly lastEnd?: ContainerEnd;
  readonly failedCheck?: FailedCheck;
  /** Set while a failed step waits for its next attempt. */
  readonly retry?: RetrySchedule;
  /** While a pull takes longer: how much of the image has arrived. */
  readonly pull?: PullProgress;
  readonly at: string;
}

/** How something ended, without what it wrote. */
export function withoutOutput<Ended extends { readonly output?: string; readonly log?: string }>(
  ended: Ended,
): Omit<Ended, 'output' | 'log'> {
  const { output: _, log: _log, ...rest } = ended;
  return rest;
}

/** Whether a container does its work: it runs, and its health check, if it has one, passes. */
export function isReady(report: Report | undefined): boolean {
  return report?.state === 'running' && (report.health === 'none' || report.health === 'healthy');
}

const REPORTS_MAX = 1000;

/** What can be part of a key. */
const segment = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$',
  ...annotate({ 'x-expected': 'a name or an id' }),
});

const time = Type.String({
  // Within the calendar and the clock: readers may compute with it.
  pattern: '^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?Z$',
  ...annotate({ 'x-expected': 'a time such as 2026-01-31T12:00:00.000Z' }),
});

/** The longest output that a report carries, in characters. */
export const OUTPUT_MAX = 2048;

const outputSchema = Type.Optional(Type.String({ maxLength: OUTPUT_MAX, ...annotate({ 'x-redact': true }) }));

const outputFields = {
  exitCode: Type.Integer(),
  at: time,
  output: outputSchema,
  isWithheld: Type.Optional(Type.Literal(true)),
};

const endSchema = Type.Object(
  { ...outputFields, oomKilled: Type.Optional(Type.Literal(true)) },
  { additionalProperties: false },
);

const failedCheckSchema = Type.Object(
  {
    ...outputFields,
    timedOut: Type.Optional(Type.Literal(true)),
    log: outputSchema,
    isLogWithheld: Type.Optional(Type.Literal(true)),
  },
  { additionalProperties: false },
);

const retrySchema = Type.Object(
  { at: time, everySeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })) },
  { additionalProperties: false },
);

const byteCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const pullSchema = Type.Object({ receivedBytes: byteCount, totalBytes: byteCount }, { additionalProperties: false });

const reportSchema = Type.Object(
  {
    replica: segment,
    deployment: segment,
    slot: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    nodeId: segment,
    templateHash: segment,
    state: Type.Enum(['pulling', 'creating', 'running', 'exited', 'failed', 'stopping', 'removed'], { type: 'string' }),
    health: Type.Enum(['none', 'starting', 'healthy', 'unhealthy'], { type: 'string' }),
    restarts: Type.Integer({ minimum: 0 }),
    containerId: Type.Optional(segment),
    containerName: Type.Optional(segment),
    exitCode: Type.Optional(Type.Integer()),
    reason: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' })),
    message: Type.Optional(Type.String({ maxLength: 2048 })),
    since: Type.Optional(time),
    startedAt: Type.Optional(time),
    user: Type.Optional(Type.String({ maxLength: 256 })),
    lastEnd: Type.Optional(endSchema),
    failedCheck: Type.Optional(failedCheckSchema),
    retry: Type.Optional(retrySchema),
    pull: Type.Optional(pullSchema),
    at: time,
  },
  { additionalProperties: false },
);

/** `POST /agent/v1/reports`. */
export const reportBatchSchema = Type.Object(
  { reports: Type.Array(reportSchema, { maxItems: REPORTS_MAX }) },
  { additionalProperties: false },
);

/** What an agent sends at once. */
export interface ReportBatch {
  readonly reports: readonly Report[];
}

/** Checks `POST /agent/v1/reports`. */
export const checkReportBatch: (document: unknown) => CheckResult<ReportBatch> = createBodyCheck(reportBatchSchema);
