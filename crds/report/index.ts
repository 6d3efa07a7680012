/**
 * A report: one container as a node's agent sees it, at `reports/<tenant>/<nodeId>/<replica uid>`.
 *
 * A report is an observation and decides nothing; whoever reads it compares it with what is wanted.
 *
 *     const checked = checkReportBatch(document);
 *     if (isReady(report)) …
 *
 * Whether a report is about a replica of the node that sent it is for the API to ask.
 *
 * @module
 */
export type { ReportBatch } from './batch.js';
export { checkReportBatch, reportBatchSchema } from './batch.js';
export type { ContainerHealth, ContainerState, Report } from './report.js';
export { isReady } from './report.js';
