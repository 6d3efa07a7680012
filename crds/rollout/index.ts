/**
 * The rollout of a deployment, as far as it is: `rollouts/<tenant>/<deployment>`, written by the replica keeper.
 *
 * It holds what cannot be derived from the replicas: the last revision that was complete, the last rollout that failed, and how
 * far the present one has come.
 *
 * @module
 */
import type { Reason } from '../reasons/index.js';

/** `rollouts/<tenant>/<deployment>`. */
export interface RolloutRecord {
  /** Of the deployment. */
  readonly uid: string;
  /** The last template whose replicas were all available, and the revision that it was then. */
  readonly completed?: CompletedRollout;
  /** The last rollout that missed its deadline. */
  readonly failed?: RolloutFailure;
  /** How far the present rollout has come. Absent while nothing is rolled out, and while it waits for something else. */
  readonly progress?: RolloutProgress;
}

/** The furthest that a rollout has come, and since when it has not come further. */
export interface RolloutProgress {
  readonly revision: number;
  readonly at: string;
  /** The most new replicas that were available, and that had a node. */
  readonly available: number;
  readonly placed: number;
  /** The fewest replicas of older templates. */
  readonly old: number;
}

export interface CompletedRollout {
  readonly revision: number;
  readonly templateHash: string;
  readonly at: string;
}

/** A rollout that made no progress within its deadline. */
export interface RolloutFailure {
  readonly revision: number;
  readonly at: string;
  /** One word for programs: what holds the replica up. */
  readonly reason: Reason;
  /** For people. Never holds output of the container. */
  readonly message: string;
  /** The replica that the rollout waited for, its last exit code, and what it wrote last. */
  readonly replica?: number;
  readonly exitCode?: number;
  readonly output?: string;
  /** The revision that was brought back. */
  readonly rolledBackTo?: number;
}
