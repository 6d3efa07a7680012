import type { CandidateView, PlacementView } from './views.js';

/** What one filter says of one node. */
export interface GridCell {
  readonly filter: string;
  readonly isRefused: boolean;
  readonly message: string;
}

/** One node in the grid. */
export interface GridRow {
  readonly node: string;
  readonly isAble: boolean;
  readonly note: string;
  readonly cells: readonly GridCell[];
}

/** The filters that refuse some node, and each node by each of them. Filters that all nodes pass would only be columns of ticks. */
export function buildPlacementGrid({ filters, candidates }: Pick<PlacementView, 'filters' | 'candidates'>): {
  readonly filters: readonly string[];
  readonly rows: readonly GridRow[];
} {
  const refusing = new Set(candidates.flatMap(({ reasons }) => reasons.map(({ filter }) => filter)));
  const shown = [
    ...filters.filter(name => refusing.has(name)),
    ...[...refusing].filter(name => !filters.includes(name)),
  ];
  return { filters: shown, rows: candidates.map(candidate => toRow(candidate, shown)) };
}

function toRow({ node, reasons, replicas, rank, whyHere }: CandidateView, filters: readonly string[]): GridRow {
  const running = replicas > 0 ? `${replicas} here` : '';
  const ranked = rank === null ? '' : `rank ${rank}`;
  return {
    node,
    isAble: reasons.length === 0,
    note: [running, ranked, whyHere ?? ''].filter(Boolean).join(', '),
    cells: filters.map(filter => {
      const found = reasons.filter(each => each.filter === filter);
      return { filter, isRefused: found.length > 0, message: found.map(describeRefusal).join('; ') };
    }),
  };
}

function describeRefusal({ message, inTheWay = [] }: CandidateView['reasons'][number]): string {
  const holders = inTheWay.map(({ deployment, job, replica, holds }) => {
    const who = deployment ?? job ?? 'another';
    const which = replica === undefined ? who : `replica ${replica} of ${who}`;
    return holds === '' ? which : `${which} holds ${holds}`;
  });
  return holders.length > 0 ? `${message} (${holders.join('; ')})` : message;
}
