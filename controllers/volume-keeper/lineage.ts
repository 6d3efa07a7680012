import { extendLineage, type VolumeTerm } from '../../crds/volume/index.js';
import type { VolumeInput } from './input.js';

/**
 * The terms of a volume up to an epoch, which gets its generation here: drawn once, and stored with the status that issues it. Where the status
 * was lost, the agent that acts in that epoch knows its generation, that of the primary before any other.
 */
export function decideLineage(
  { status, reports, drawGenerationId }: Pick<VolumeInput, 'status' | 'reports' | 'drawGenerationId'>,
  epoch: number,
): readonly VolumeTerm[] {
  const { lineage = [] } = status ?? {};
  if (lineage.at(-1)?.epoch === epoch) return lineage;
  const acting = reports.filter(report => report.epoch === epoch && report.generationId !== undefined);
  const known = lineage.length > 0 ? undefined : (acting.find(({ role }) => role === 'primary') ?? acting[0]);
  return extendLineage(lineage, { epoch, generationId: known?.generationId ?? drawGenerationId() });
}
