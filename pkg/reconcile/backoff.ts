import type { Random } from '../clock/index.js';

/** How long to wait after each failure in a row. */
export interface BackoffOptions {
  readonly firstMs: number;
  readonly capMs: number;
}

/** From a twentieth of a second to five minutes: a conflict heals at once, a permanent failure costs little. */
export const defaultBackoff: BackoffOptions = { firstMs: 50, capMs: 300_000 };

/** The wait after `failures` failures in a row: doubled each time up to the cap, spread by a quarter either way. */
export function backoffMs(failures: number, { firstMs, capMs }: BackoffOptions, random: Random): number {
  const doubled = Math.min(capMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.min(capMs, doubled * (0.75 + random.next() / 2));
}
