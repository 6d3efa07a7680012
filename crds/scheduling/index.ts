/**
 * Why a deployment has replicas without a node, at `scheduling/<tenant>/<deployment>`.
 *
 * Written by the scheduler and there only while replicas wait: the status shows its summary, the event that it names
 * carries every reason of every node.
 *
 * @module
 */

/** Why one node may not host one replica, as data and in words an operator can act on. */
export interface Refusal {
  /** The filter that refused. */
  readonly filter: string;
  readonly required: string;
  readonly reported: string;
  readonly message: string;
}

/** One node that will not do, with every reason. */
export interface Refused {
  readonly node: string;
  readonly reasons: readonly Refusal[];
}

export interface Scheduling {
  /** Of the deployment. */
  readonly uid: string;
  /** Replicas that wait for a node. */
  readonly unplaced: number;
  /** `0 of 3 nodes: 2 resources, 1 ready`. */
  readonly summary: string;
  /** Hash of which filters of which nodes refuse what: another cause is another event. */
  readonly cause: string;
  /** Hash of every reason in full. */
  readonly details: string;
  /** Id of the event that stands for the cause. */
  readonly event: string;
  readonly lastSeenAt: string;
}
