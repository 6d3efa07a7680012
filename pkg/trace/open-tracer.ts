import type { Clock, Random } from '../clock/index.js';
import { InvalidSettingFault } from '../config/index.js';
import type { Logger } from '../log/index.js';
import type { Metrics } from '../metrics/index.js';
import { readProductVersion } from '../version/index.js';
import { Tracer } from './tracer.js';

interface TraceSettings {
  /** Empty: nothing is traced. */
  readonly traceEndpoint: string;
  readonly traceRatio: number;
}

interface TraceEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * The tracer of a process, as the settings ask for it. Undefined when tracing is off: then what would send spans is not even
 * loaded. Throws when the settings cannot be used.
 */
export async function openTracer(
  service: string,
  { traceEndpoint, traceRatio }: TraceSettings,
  { clock, random, log, metrics }: TraceEnv,
): Promise<Tracer | undefined> {
  if (traceEndpoint === '') return undefined;
  const url = toTracesUrl(traceEndpoint);
  if (!(traceRatio >= 0 && traceRatio <= 1)) {
    throw new InvalidSettingFault(`setting "traceRatio": must be from 0 to 1; got ${traceRatio}`);
  }
  const { SpanExporter } = await import('./exporter.js');
  const count = (result: string) => metrics.count('mooring_trace_spans_total', { result });
  const resource = { service, version: readProductVersion(), instance: random.uuid() };
  return new Tracer({ clock, random }, new SpanExporter({ clock, random, log, count }, { url, resource }), traceRatio);
}

/** Where a collector takes traces: `/v1/traces` below its address. */
function toTracesUrl(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidSettingFault('setting "traceEndpoint": must be a URL such as http://127.0.0.1:4318');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    throw new InvalidSettingFault(
      'setting "traceEndpoint": must have no user, password or query, since settings are shown; use a collector near by that knows the login',
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/v1/traces`;
}
