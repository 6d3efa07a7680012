import type { Metrics } from '../pkg/metrics/index.js';
import type { LoopMeter } from '../pkg/reconcile/index.js';

/** Feeds what the runtime tells about its loops into the process's metrics. */
export function loopMetrics(metrics: Metrics): LoopMeter {
  return {
    depth: (loop, keys) => metrics.set('mooring_queue_depth', { loop }, keys),
    waited: (loop, ms) => metrics.observe('mooring_queue_wait_seconds', { loop }, ms / 1000),
    reconciled: (loop, result, ms) => {
      metrics.observe('mooring_reconcile_seconds', { loop, result }, ms / 1000);
      if (result === 'retry') metrics.count('mooring_reconcile_retries_total', { loop });
    },
    leading: (loop, leads) => metrics.set('mooring_loop_leader', { loop }, leads ? 1 : 0),
  };
}
