import type { VolumeTerm } from './terms.js';

/** An epoch with the generation that it has in tests where it was issued once. */
export function makeTerm(epoch: number): VolumeTerm {
  return { epoch, generationId: epoch.toString(16).padStart(16, '0') };
}
