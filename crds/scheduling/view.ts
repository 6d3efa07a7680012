/** What stands in the way of a replica: one on a node, or all of a deployment or a job where a quota is used up. */
export interface Holder {
  /** Its deployment, or the job that it is an attempt of. */
  readonly deployment?: string;
  readonly job?: string;
  /** Which of them; absent when all are meant. */
  readonly replica?: number;
  readonly attempt?: number;
  /** The name of the node, where it is another one than the one that is explained. */
  readonly node?: string;
  /** What it holds: `80/tcp`, `3000m cpu`. Empty for one that is merely there. */
  readonly holds: string;
  /** Its container is being removed. */
  readonly isLeaving?: true;
}

/** One node in an explanation of placement: why it was filtered out, or how it ranks. */
export interface CandidateView {
  readonly node: string;
  readonly replicas: number;
  readonly rank: number | null;
  readonly reasons: readonly {
    readonly filter: string;
    readonly message: string;
    readonly inTheWay?: readonly Holder[];
  }[];
  readonly whyHere?: string;
}
