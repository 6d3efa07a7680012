/**
 * What the processes count and time, in Prometheus' text format.
 *
 * One table names every metric with its help and its labels, so that what is measured can be read in one place and a
 * label that does not exist does not compile. No label ever holds a tenant, a name or an id: the number of series
 * must not grow with the number of users.
 *
 * `createMetrics` makes an independent set, `count`, `observe` and `set` feed it, `text` prints it.
 *
 * It leaves listening to the processes; prom-client is imported here only.
 *
 * @module
 */
export type { BoundCounter, BoundHistogram, LabelsOf, Metrics } from './metrics.js';
export { createMetrics } from './metrics.js';
export type { MetricName, MetricRow } from './table.js';
export { metricsTable } from './table.js';
