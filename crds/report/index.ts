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

/** `removed` is the agent's word that no container of this replica exists any more. */
export type ContainerState = 'pulling' | 'creating' | 'running' | 'exited' | 'failed' | 'stopping' | 'removed';

/** `none` means that no health check was declared: running is then all that is asked. */
export type ContainerHealth = 'none' | 'starting' | 'healthy' | 'unhealthy';

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
  readonly exitCode?: number;
  /** One word for programs when something is wrong: `image_pull_failed`, `create_failed`, `crash_loop` … */
  readonly reason?: string;
  /** For people. Never holds output of the container: it might hold a secret. */
  readonly message?: string;
  readonly at: string;
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
    exitCode: Type.Optional(Type.Integer()),
    reason: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' })),
    message: Type.Optional(Type.String({ maxLength: 2048 })),
    at: Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:\\.\\d{1,9})?Z$',
      ...annotate({ 'x-expected': 'a time such as 2026-01-31T12:00:00.000Z' }),
    }),
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
