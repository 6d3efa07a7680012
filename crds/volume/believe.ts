import type { SeenVolume, VolumeStatus } from './volume.js';

/** Orders to move that a store which was restored from a backup may not know of any more. */
const ORDERS_MAX = 1_000;

/**
 * What counts of a report. An agent learns of an epoch from its assignment, with a proof of it: one that the store does not know of was
 * issued before the store was restored from an old backup if the agent has the proof, and never otherwise. What an agent without it says of its
 * bytes is not believed; nor is an order to move that is too far away to have been given.
 */
export function believeReport(
  { epochProof = '', ...seen }: SeenVolume,
  status: Pick<VolumeStatus, 'epoch'>,
  isProven: (epoch: number, proof: string) => boolean,
): SeenVolume {
  const { epoch = 1, syncedEpoch = 1, final } = seen;
  const known = status.epoch ?? 1;
  const claimed = Math.max(epoch, syncedEpoch);
  if (claimed > known && !(syncedEpoch <= epoch && isProven(epoch, epochProof))) {
    if (seen.state === 'removed') return { id: seen.id, state: 'removed' };
    const message = `its agent claims epoch ${claimed} of the volume and cannot prove it; the last that the control plane knows of is ${known}: what it says of its bytes is not believed. Restore its state folder, or remove the copy with force`;
    return { id: seen.id, state: 'failed', message };
  }
  if (final === undefined || final.epoch <= Math.max(known, epoch) + ORDERS_MAX) return seen;
  const { final: _, ...rest } = seen;
  return rest;
}
