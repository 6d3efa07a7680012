import type { SimWorld } from '../../dev/simulation/index.js';
import type { Invariant } from './history.js';

const SPAN_MS = 10_000;
/** In 32 worlds it was 40 times at most; none of 160 comes to this. */
const MOST_STORED = 200;

/** Nothing is stored over and over: it would be by loops that undo what the others do, and nothing would come to rest. */
export function createRestInvariant(world: SimWorld): Invariant {
  let span = 0;
  const stored = new Map<string, number>();
  return changes => {
    const now = Math.floor(world.time / SPAN_MS);
    if (now !== span) stored.clear();
    span = now;
    for (const { key } of changes) {
      const times = (stored.get(key) ?? 0) + 1;
      stored.set(key, times);
      if (times > MOST_STORED) throw new Error(`${key} was stored ${times} times within ${SPAN_MS} ms`);
    }
  };
}
