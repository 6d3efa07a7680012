/**
 * An epoch of a volume as it was issued. After a restore of the control plane from an old backup its number is issued again, its
 * generation never: what was written in one is no part of the other.
 */
export interface VolumeTerm {
  /** Raised by each promotion and move. */
  readonly epoch: number;
  /** Drawn at random when the epoch was issued. */
  readonly generationId: string;
}

/** A term as an agent reports it, which may leave out a part. */
type ReportedTerm = { readonly [Key in keyof VolumeTerm]?: VolumeTerm[Key] | undefined };

/** What a generation looks like: part of the names of snapshots, so it is short and has no hyphen. */
export const GENERATION_ID = '[0-9a-f]{16}';

/** So many terms are remembered. Of those that are further back nothing can be said. */
const LINEAGE_MAX = 16;

/** The terms that were issued of a volume, with one more, oldest first. */
export function extendLineage(lineage: readonly VolumeTerm[], term: VolumeTerm): readonly VolumeTerm[] {
  return [...lineage, term].slice(-LINEAGE_MAX);
}

/** Whether two terms are one: their epochs alone may be of different histories. */
export function isSameTerm(one: ReportedTerm, other: ReportedTerm): boolean {
  return one.epoch === other.epoch && one.generationId === other.generationId;
}

/** Whether a term was issued in another history than the one that these are of; one without a generation was not. */
export function isForeignTerm({ epoch = 0, generationId }: ReportedTerm, lineage: readonly VolumeTerm[]): boolean {
  const [oldest] = lineage;
  if (oldest === undefined || epoch < oldest.epoch || generationId === undefined) return false;
  return !lineage.some(each => isSameTerm(each, { epoch, generationId }));
}
