import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

import { type MetricName, type MetricRow, metricsTable } from './table.js';

type Table = typeof metricsTable;
type NamesOf<Kind extends MetricRow['kind']> = {
  [Name in MetricName]: Table[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

/** The labels of one metric, each with a value. */
export type LabelsOf<Name extends MetricName> = Readonly<Record<Table[Name]['labels'][number], string>>;

/** One counter with its labels given: for paths where looking them up each time would show. */
export interface BoundCounter {
  /** Adds one. */
  add(): void;
}

/** One histogram with its labels given. */
export interface BoundHistogram {
  observe(value: number): void;
}

/** A set of all metrics of the table. */
export interface Metrics {
  /** Adds one. */
  count<Name extends NamesOf<'counter'>>(name: Name, labels: LabelsOf<Name>): void;
  /** Records one measurement. */
  observe<Name extends NamesOf<'histogram'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /** Says how much there is now. */
  set<Name extends NamesOf<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number): void;
  counter<Name extends NamesOf<'counter'>>(name: Name, labels: LabelsOf<Name>): BoundCounter;
  histogram<Name extends NamesOf<'histogram'>>(name: Name, labels: LabelsOf<Name>): BoundHistogram;
  /** Everything, as Prometheus reads it. */
  text(): Promise<string>;
  /** Media type of `text`. */
  readonly contentType: string;
}

/** Makes a set of its own. `processMetrics: false` leaves out what concerns the whole process, for tests and simulations. */
export function createMetrics({ processMetrics = true }: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });

  const made = new Map<string, Counter | Gauge | Histogram>();
  for (const [name, row] of Object.entries<MetricRow>(metricsTable)) made.set(name, make(name, row, registry));

  return {
    count: (name, labels) => (made.get(name) as Counter).inc(labels),
    observe: (name, labels, value) => (made.get(name) as Histogram).observe(labels, value),
    set: (name, labels, value) => (made.get(name) as Gauge).set(labels, value),
    counter: (name, labels) => {
      const child = (made.get(name) as Counter).labels(labels);
      return { add: () => child.inc() };
    },
    histogram: (name, labels) => {
      const child = (made.get(name) as Histogram).labels(labels);
      return { observe: value => child.observe(value) };
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function make(name: string, { kind, help, labels, buckets = [] }: MetricRow, registry: Registry) {
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'counter') return new Counter(common);
  if (kind === 'gauge') return new Gauge(common);
  return new Histogram({ ...common, buckets: [...buckets] });
}
