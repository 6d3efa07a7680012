import type { Refusal } from '../../crds/scheduling/index.js';
import { type ExplainedNode, type Explanation, filters, summarise } from '../../pkg/placement/index.js';

/** One node as an explanation shows it: every filter that is not among the reasons has let it through. */
export type CandidateView = Omit<ExplainedNode, 'verdicts'> & { readonly reasons: readonly Refusal[] };

/** An explanation of placement as clients see it. */
export interface ExplanationView {
  /** Every filter that every node was put to, in order. */
  readonly filters: readonly string[];
  readonly able: number;
  /** `0 of 3 nodes: 2 residency, 1 ready`. */
  readonly summary: string;
  readonly candidates: readonly CandidateView[];
}

/** Leaves out what goes without saying. */
export function explanationView({ nodes, able }: Explanation): ExplanationView {
  const candidates = nodes.map(({ verdicts, ...node }): CandidateView => {
    const reasons = verdicts.flatMap(({ reason }) => (reason ? [reason] : []));
    return { ...node, reasons };
  });
  const refused = candidates.filter(({ reasons }) => reasons.length > 0);
  return { filters: filters.map(({ name }) => name), able, summary: summarise(able, refused), candidates };
}
