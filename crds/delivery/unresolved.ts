/** Why secrets cannot be had, in one word. */
export type UnresolvedReason =
  | 'secret_forbidden'
  | 'secret_missing'
  | 'secret_store_unavailable'
  | 'secret_unreadable'
  | 'secret_undeliverable';

/** `unresolved/<tenant>/<deployment>`: why replicas have no secrets, and so no container. Written by the secret resolver. */
export interface Unresolved {
  /** Of the deployment. */
  readonly uid: string;
  readonly reason: UnresolvedReason;
  /** For people: which path, which key. Never a value. */
  readonly message: string;
  /** Replicas that wait. */
  readonly replicas: number;
  readonly since: string;
  readonly lastSeenAt: string;
  /** Id of the event that stands for the cause. */
  readonly event: string;
}
