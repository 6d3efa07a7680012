import type { Clock } from '../../pkg/clock/index.js';
import { again, type Loop } from '../../pkg/reconcile/index.js';

const START = Date.UTC(2030, 0, 1);
/** So much faster does time pass for the loop that watches schedules: a storm lasts for some ticks, which are minutes. */
const HASTE = 12;

/** The time of that loop. */
export const hasten = (clock: Clock): Clock => ({
  now: () => START + (clock.now() - START) * HASTE,
  monotonic: () => clock.monotonic(),
  after: (ms, fire) => clock.after(ms, fire),
});

/** The loop of schedules in its own time. */
export function hastenSchedules(loops: readonly Loop[]): readonly Loop[] {
  return loops.map(loop => {
    if (loop.name !== 'job-scheduler') return loop;
    const reconcile: Loop['reconcile'] = async (key, env, signal) => {
      const result = await loop.reconcile(key, { ...env, clock: hasten(env.clock) }, signal);
      return result.kind === 'again' ? again(result.afterMs / HASTE, result.because) : result;
    };
    return { ...loop, reconcile };
  });
}
