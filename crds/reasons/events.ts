/** What a reason means, and what to do about it. */
export interface ReasonEntry {
  readonly meaning: string;
  /** What to do; `{name}` stands for the deployment. Absent: nothing is wrong. */
  readonly remedy?: string;
}

/** Of events about a change; those about trouble are with what the trouble is about. */
export const eventReasons = {
  created: { meaning: 'The deployment was stored.' },
  updated: { meaning: 'The deployment was changed; the event names the fields, and the token that changed them.' },
  deletion_requested: { meaning: 'The deployment is being deleted: its record stays until its containers are gone.' },
  rolled_back: { meaning: 'An earlier revision of the deployment was brought back, as a new one.' },
  canary_started: {
    meaning: 'The new template is started on a few replicas first (rollout.canary).',
    remedy:
      'It is promoted when its hold is over, or with "moor canary promote {name}"; "moor canary abort {name}" takes it back.',
  },
  canary_promoted: { meaning: 'The canary is good: the new template follows on all replicas.' },
  canary_aborted: {
    meaning: 'The canary was taken back: the template that was complete last is stored again, as a new revision.',
    remedy: 'Correct what the message names, and apply it again.',
  },
  canary_not_aborted: {
    meaning:
      'The canary was ordered to be taken back, and stays: the revision that was complete last cannot be stored again.',
    remedy:
      'Correct what the message names, then "moor canary abort {name}" again, or apply the configuration that is wanted.',
  },
  canary_superseded: { meaning: 'The deployment was changed during its canary, which is over with that.' },
  backed_up: { meaning: 'The configuration of the deployment was copied into a backup.' },
  imported: { meaning: 'A backup that was exported was stored.' },
  restored: { meaning: 'The deployment was restored from a backup.' },
  rotated: { meaning: 'The containers of the deployment are recreated for the rotation of a credential.' },
  placed: { meaning: 'Replicas were given a node.' },
  placing: { meaning: 'The replicas have no node yet and are being placed.' },
  unschedulable: {
    meaning: 'No node takes at least one of the replicas; the event has the reasons of every node.',
    remedy: '"moor explain deployment {name}" says the same of now, and who is in the way.',
  },
  dependency: {
    meaning: 'The deployment waits for one that it depends on.',
    remedy: 'Fix the dependency that the message names: "moor describe deployment <dependency>".',
  },
  progressing: { meaning: 'Replicas are being created, started, replaced or removed.' },
  running: { meaning: 'Every replica is ready.' },
  recovered: { meaning: 'Every replica is ready again.' },
  degraded: { meaning: 'A replica fails.', remedy: '"moor describe deployment {name}" shows which, and why.' },
  stopped: { meaning: 'The deployment asks for 0 replicas, and no container is left.' },
  waiting: { meaning: 'The deployment waits for a dependency, or for a node that satisfies its residency.' },
  rollout_completed: { meaning: 'Every replica runs the newest template.' },
  residency_violated: {
    meaning: 'A replica is on a node that breaks the residency. It is moved, unless it writes to a volume.',
    remedy: 'Check the labels of the node: "moor describe node <node>".',
  },
  deleted: { meaning: 'The deployment was removed.' },
  quota_reached: {
    meaning: 'The quota of the tenant is used up: replicas wait, and nothing is stopped.',
    remedy: 'Remove other deployments, or have the platform raise the quota: "moor quotas".',
  },
  quotas_changed: { meaning: 'The platform has changed the quotas of the tenant.' },
  enrolled: { meaning: 'A machine has joined.' },
  enrolled_again: { meaning: 'A machine came back with another key, by a join token made for it.' },
  handed_over: {
    meaning: 'The machine was handed over by its former owner.',
    remedy: 'Enrol its agent with a join token of this tenant.',
  },
  released: { meaning: 'The claim to the machine was released.' },
  node_deleted: { meaning: 'The node was deleted.' },
  labels_changed: { meaning: 'The agent advertises other labels.' },
  written: { meaning: 'A secret was written, or would be by a dry run. No value is shown.' },
  exists: { meaning: 'Of a dry run: the secret exists already.' },
  stage: { meaning: 'A rotation: the new version is stored beside the old one.' },
  promote: { meaning: 'A rotation: the new version is current, and containers are recreated with it.' },
  verify: { meaning: 'A rotation: every container has the new version and is healthy.' },
  retire: { meaning: 'A rotation: the old version is destroyed.' },
  aborted: { meaning: 'A rotation was turned back: the old version is current.' },
  delivery_ticket_used: {
    meaning: 'The ticket for the secrets of a container, or for the login that pulls its image, was presented twice.',
    remedy: 'Check the node that the event names: its agent may have been copied. Rotate what it had.',
  },
  nospace: {
    meaning: 'The store etcd has reached its quota and takes no new data.',
    remedy:
      'The controllers compact and defragment it and take the alarm back. If it stays, delete what is not needed or enlarge the quota: docs/OPERATIONS.md.',
  },
  store_alarm: {
    meaning: 'The store etcd has raised an alarm.',
    remedy: 'See the log of etcd and docs/OPERATIONS.md.',
  },
  corrupt: {
    meaning: 'A member of etcd has data that differs from the others.',
    remedy: 'See docs/OPERATIONS.md: replace the member.',
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;
