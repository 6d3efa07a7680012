import type { Clock } from '../pkg/clock/index.js';

/** Calls `tick` again and again, `ms` after the last time. Returns how to stop it. */
export function every(clock: Clock, ms: number, tick: () => void): () => void {
  let cancel = clock.after(ms, fire);
  function fire(): void {
    cancel = clock.after(ms, fire);
    tick();
  }
  return () => cancel();
}
