import type { CanaryAction, CanaryOutcome, RolloutFailure } from '../deployment/index.js';
import type { Replica } from '../replica/index.js';

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
  /** The canary of the present rollout, also after it was promoted, until the rollout is complete. */
  readonly canary?: CanaryRecord;
  readonly lastCanary?: CanaryOutcome;
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
  /** Of the template whatever the version of its secrets. */
  readonly contentHash: string;
  readonly at: string;
}

/** The canary of a rollout: the new template on a few replicas, beside the old ones. */
export interface CanaryRecord {
  /** The revision with which it began, and its content: a change of replicas goes on with it, a change of content begins another. */
  readonly revision: number;
  readonly contentHash: string;
  readonly startedAt: string;
  /** What the old replicas are made from: one that is lost meanwhile is recreated. */
  readonly baseline: ReplicaForm;
  /** Since when all of its replicas have been available. */
  readonly healthy?: CanaryHealth;
  /** It was ill together with the others: until it is healthy again it has the deadline of the rollout. */
  readonly isRecovering?: true;
  /** It has failed and was not rolled back (`failed` says why): whatever revision has this content, only an order promotes it. */
  readonly hasFailed?: true;
  /** Its rollout goes on. */
  readonly promotedAt?: string;
}

export interface CanaryHealth {
  readonly since: string;
  /** How often the containers of both sides had restarted by then, by the uid of their replica: those that had. */
  readonly restarted?: Readonly<Record<string, number>>;
}

/** What a replica is made from. */
export type ReplicaForm = Pick<Replica, 'templateHash' | 'template' | 'namedNode'>;

/** `canary-orders/<tenant>/<deployment>`, written by the API, removed by the replica keeper with what it does about it. */
export interface CanaryOrder {
  /** Of the deployment. */
  readonly uid: string;
  /** Of the canary that it is for: another one ignores it. */
  readonly contentHash: string;
  readonly action: CanaryAction | 'resume';
  /** With `resume`. */
  readonly beside?: CanaryBeside;
  /** The token that ordered it. */
  readonly by: string;
  readonly at: string;
}

/** What ran beside a canary: a deployment that is recreated from a backup begins with both. */
export interface CanaryBeside {
  readonly completed: CompletedRollout;
  readonly baseline: ReplicaForm;
}
