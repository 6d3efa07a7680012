import type { Clock } from '../pkg/clock/index.js';
import type { Logger } from '../pkg/log/index.js';
import type { Metrics } from '../pkg/metrics/index.js';
import type { Caller } from './access/caller.js';
import { Refused } from './refusal.js';
import type { Outcome, Route } from './route.js';
import { RouteMetrics } from './route-metrics.js';

/** What is known of a request so far. */
export interface Progress {
  readonly requestId: string;
  readonly method: string;
  /** Monotonic. */
  readonly startedAt: number;
  route: Route | undefined;
  caller: Caller;
  tenant: string;
}

export interface AccountsEnv {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Counts, times and logs what was answered. */
export class Accounts {
  readonly #env: AccountsEnv;
  readonly #routes: RouteMetrics;

  constructor(env: AccountsEnv) {
    this.#env = env;
    this.#routes = new RouteMetrics(env.metrics);
  }

  /**
   * Notes one answer. A line of information for every change that somebody asked for; reads, and the constant talk of
   * the agents, are for those who look closer.
   */
  note({ requestId, method, startedAt, route, caller, tenant }: Progress, status: number, outcome: Outcome): void {
    const { metrics, log, clock } = this.#env;
    const path = route?.path ?? 'none';
    const ms = clock.monotonic() - startedAt;
    this.#routes.count(method, path, status);
    const isWrite = route !== undefined && method !== 'GET' && method !== 'HEAD' && !path.startsWith('/agent/');
    const level = isWrite ? 'info' : 'debug';
    const fields = { requestId, method, route: path, status, ms: Math.round(ms * 10) / 10, tenant, token: caller.id };
    if (outcome instanceof Refused) {
      const [{ code }] = outcome.rejections;
      metrics.count('mooring_rejections_total', { code });
      log[level]('request', { ...fields, code });
    } else if ('body' in outcome) {
      this.#routes.observe(method, path, ms);
      log[level]('request', outcome.alterations ? { ...fields, alterations: outcome.alterations } : fields);
    } else {
      log[level]('stream', fields);
    }
  }
}
