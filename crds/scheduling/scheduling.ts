/** `scheduling/<tenant>/<deployment>`. */
export interface Scheduling {
  /** Of the deployment. */
  readonly uid: string;
  /** Replicas that wait for a node. */
  readonly unplaced: number;
  /** `0 of 3 nodes: 2 resources, 1 ready`. */
  readonly summary: string;
  /** The filters that refuse somewhere, or did since the event: what else may change without helping. */
  readonly filters: readonly string[];
  /** No node that can be reached satisfies the residency that the deployment asks for. */
  readonly residencyUnmet: boolean;
  /** Hash of which filters of which nodes refuse what, as the event has it: another cause is another event. */
  readonly cause: string;
  /** Hash of every reason in full, and of how many replicas wait, as the event has them. */
  readonly details: string;
  /** Id of the event that stands for the cause. Left out when the store would not take one. */
  readonly event?: string;
  readonly lastSeenAt: string;
}
