import { isForeignTerm, type VolumeTerm } from './terms.js';
import type { SeenVolume, VolumeStatus } from './volume.js';

/** Orders to move that a store which was restored from a backup may not know of any more. */
const ORDERS_MAX = 1_000;

/**
 * What counts of a report. An agent learns of a term from its assignment, with a proof of it: one that the store does not know of was
 * issued before the store was restored from an old backup if the agent has the proof, and never otherwise. What an agent without it says of its
 * bytes is not believed; nor is an order to move that is too far away to have been given.
 */
export function believeReport(
  { epochProof = '', ...seen }: SeenVolume,
  { epoch: known = 1, lineage = [], finalFor = 0 }: Pick<VolumeStatus, 'epoch' | 'lineage' | 'finalFor'>,
  isProven: (term: VolumeTerm, proof: string) => boolean,
): SeenVolume {
  const { epoch = 1, generationId = '', syncedEpoch = 1, final } = seen;
  const claimed = Math.max(epoch, syncedEpoch);
  const isForeign = isForeignTerm(seen, lineage);
  if ((claimed > known || isForeign) && !(syncedEpoch <= epoch && isProven({ epoch, generationId }, epochProof))) {
    if (seen.state === 'removed') return { id: seen.id, state: 'removed' };
    const what = isForeign && claimed <= known ? ' in another generation' : '';
    const message = `its agent claims epoch ${claimed} of the volume${what} and cannot prove it; the last that the control plane knows of is ${known}: what it says of its bytes is not believed. Restore its state folder, or remove the copy with force`;
    return { id: seen.id, state: 'failed', message };
  }
  if (final === undefined || final.epoch <= Math.max(known, epoch, finalFor) + ORDERS_MAX) return seen;
  const { final: _, ...rest } = seen;
  return rest;
}
