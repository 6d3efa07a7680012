/**
 * Events: what happened, in the words of whoever saw it, at `events/<tenant>/<id>`.
 *
 * Ids sort by time. One standing cause is one event with a count, never a flood.
 *
 * @module
 */

/** The types this release emits. */
export type EventType =
  | 'deployment.created'
  | 'deployment.updated'
  | 'deployment.placed'
  | 'deployment.unschedulable'
  | 'deployment.waiting'
  | 'deployment.progressing'
  | 'deployment.running'
  | 'deployment.degraded'
  | 'deployment.recovered'
  | 'deployment.stopped'
  | 'deployment.rollout_completed'
  | 'deployment.residency_violated'
  | 'deployment.deleted'
  | 'secret.written'
  | 'secret.unresolved'
  | 'secret.rotation_advanced'
  | 'secret.rotation_aborted'
  | 'secret.delivery_repeated'
  | 'node.enrolled'
  | 'node.ready'
  | 'node.failed'
  | 'node.lost'
  | 'node.labels_changed'
  | 'node.drained'
  | 'node.claim_released'
  | 'quota.reached';

export interface StoredEvent {
  readonly id: string;
  readonly type: EventType;
  readonly at: string;
  readonly lastSeenAt: string;
  readonly count: number;
  readonly tenant: string;
  readonly subject: {
    readonly kind: 'Deployment' | 'Node' | 'Secret' | 'Tenant';
    readonly name: string;
    readonly id: string;
  };
  readonly severity: 'info' | 'warning';
  readonly reason: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}
