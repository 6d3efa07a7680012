import type { Clock } from '../clock/index.js';
import { type AgentLink, LinkRefusedFault } from '../link/index.js';
import type { Metrics } from '../metrics/index.js';
import type { ContainerStatus, Engine } from './engine/index.js';

interface MeterEnv {
  readonly clock: Clock;
  readonly metrics: Metrics;
}

interface CallEnd {
  readonly call: string;
  readonly seconds: number;
  readonly outcome: { readonly value: unknown } | { readonly thrown: unknown };
}

/** They last as long as the agent, or as a client reads: how long they took says nothing. */
const STREAMS: readonly string[] = ['events', 'assignments', 'sendLogs', 'close'];

/** Counts and times what an agent asks of its engine. What the engine does is not changed. */
export function meterEngine(engine: Engine, { clock, metrics }: MeterEnv): Engine {
  return meter(engine, clock, ({ call, seconds, outcome }) => {
    const result = 'thrown' in outcome ? 'failed' : 'ok';
    metrics.count('mooring_agent_engine_calls_total', { call, result });
    metrics.observe('mooring_agent_engine_call_seconds', { call }, seconds);
    if (call === 'ping') metrics.set('mooring_agent_engine_up', {}, result === 'ok' ? 1 : 0);
    if (call !== 'list' || 'thrown' in outcome) return;
    const containers = outcome.value as readonly ContainerStatus[];
    for (const state of ['created', 'running', 'exited']) {
      metrics.set('mooring_agent_containers', { state }, containers.filter(each => each.state === state).length);
    }
  });
}

/** Counts what an agent asks of the control plane. */
export function meterLink(link: AgentLink, { clock, metrics }: MeterEnv): AgentLink {
  return meter(link, clock, ({ call, outcome }) => {
    const isRefused = 'thrown' in outcome && outcome.thrown instanceof LinkRefusedFault;
    const result = isRefused ? 'refused' : 'thrown' in outcome ? 'failed' : 'ok';
    metrics.count('mooring_agent_server_calls_total', { call, result });
    if (call === 'heartbeat' && result === 'ok')
      metrics.set('mooring_agent_last_heartbeat_timestamp_seconds', {}, clock.now() / 1000);
  });
}

/** The same object, of which each method that answers by a promise is observed. */
function meter<Target extends object>(target: Target, clock: Clock, onEnd: (end: CallEnd) => void): Target {
  return new Proxy(target, {
    get(inner, name) {
      const member: unknown = Reflect.get(inner, name, inner);
      if (typeof member !== 'function' || typeof name !== 'string') return member;
      if (STREAMS.includes(name)) return member.bind(inner) as unknown;
      return (...words: unknown[]): unknown => {
        const began = clock.monotonic();
        const answer: unknown = Reflect.apply(member, inner, words);
        if (!(answer instanceof Promise)) return answer;
        const end = (outcome: CallEnd['outcome']) =>
          onEnd({ call: name, seconds: (clock.monotonic() - began) / 1000, outcome });
        answer.then(
          value => end({ value }),
          (thrown: unknown) => end({ thrown }),
        );
        return answer;
      };
    },
  });
}
