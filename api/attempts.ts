import { ConflictFault } from '../pkg/store/index.js';
import type { Outcome } from './route.js';

const ATTEMPTS = 8;

/** Tries until an attempt comes to something. Undefined means that somebody else was first. */
export async function attempts(name: string, attempt: () => Promise<Outcome | undefined>): Promise<Outcome> {
  for (let count = 1; count <= ATTEMPTS; count++) {
    const outcome = await attempt();
    if (outcome) return outcome;
  }
  throw new ConflictFault(name, ATTEMPTS);
}
