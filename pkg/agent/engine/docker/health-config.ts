import { parseDuration } from '../../../../crds/grammar/index.js';
import type { HealthCheck } from '../../../../crds/deployment/index.js';

/** A health check as the engine takes it. Durations are nanoseconds; what is left out is the engine's default. */
export interface HealthConfig {
  readonly Test: readonly string[];
  readonly Interval?: number;
  readonly Timeout?: number;
  readonly Retries?: number;
  readonly StartPeriod?: number;
}

/** One element is a line for the shell; several are the arguments of a program. */
export function healthConfig({ command, interval, timeout, retries, startPeriod }: HealthCheck): HealthConfig {
  return {
    Test: command.length === 1 ? ['CMD-SHELL', ...command] : ['CMD', ...command],
    ...nanoseconds('Interval', interval),
    ...nanoseconds('Timeout', timeout),
    ...nanoseconds('StartPeriod', startPeriod),
    ...(retries === undefined ? {} : { Retries: retries }),
  };
}

function nanoseconds(name: string, duration: string | undefined): Record<string, number> {
  const ms = duration === undefined ? undefined : parseDuration(duration);
  return ms === undefined ? {} : { [name]: Math.round(ms * 1e6) };
}
