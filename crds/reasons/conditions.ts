import type { ReasonEntry } from './events.js';

const READ_EVENTS = '"moor describe deployment {name}" shows the step that waits.';

/** Of the conditions of deployments. */
export const conditionReasons = {
  AllPlaced: { meaning: 'Every replica has a node.' },
  Unschedulable: {
    meaning: 'No node takes at least one of the replicas. The message counts the nodes by the filters that refuse.',
    remedy: '"moor explain deployment {name}" says of every node why, and who is in the way.',
  },
  Waiting: { meaning: 'Some replicas have no node yet: the scheduler has not decided.', remedy: READ_EVENTS },
  EnoughReady: { meaning: 'As many replicas are ready as are needed; one may be missing during a roll-out.' },
  ScaledToZero: { meaning: 'The deployment asks for 0 replicas.' },
  TooFewReady: { meaning: 'Fewer replicas are ready than are needed.', remedy: READ_EVENTS },
  ContainersUnobserved: {
    meaning: 'The agent of a node sends heartbeats but cannot see its containers: whether they run is unknown.',
    remedy: 'Check the container engine of the node; "moor describe node <node>" shows its conditions.',
  },
  StoppingTooLong: {
    meaning: 'A container is being stopped or removed for longer than that should take.',
    remedy: 'The message has the words of the engine or its agent; check the engine of the node.',
  },
  PullingTooLong: {
    meaning: 'An image is being pulled, and nothing of it arrives.',
    remedy: 'Check that the node reaches the registry of the image, and the engine and the disk of the node.',
  },
  CreatingTooLong: {
    meaning: 'A container is being created or started for longer than that should take.',
    remedy: 'Check the engine, the disk and the load of the node.',
  },
  Complete: { meaning: 'Every replica is up to date and ready, and no other is left.' },
  RollingOut: { meaning: 'Replicas of an older template are replaced, within the bounds of the rollout.' },
  Paused: {
    meaning: 'The rollout is paused: no replica is replaced.',
    remedy: 'Resume it with "moor rollout resume {name}".',
  },
  CanaryHeld: {
    meaning: 'The new template runs on a few replicas (rollout.canary); the others follow when it is promoted.',
    remedy: '"moor canary promote {name}" lets the others follow now, "moor canary abort {name}" takes it back.',
  },
  ProgressDeadlineExceeded: {
    meaning: 'The rollout of the present revision made no progress within its deadline (rollout.progressDeadline).',
    remedy: 'Correct what the message names and apply it, or go back with "moor rollout undo {name}".',
  },
  Adjusting: { meaning: 'Replicas are being created, started or removed.' },
  AllResolved: { meaning: 'Every secret that the deployment refers to was found.' },
  ResolutionPending: { meaning: 'The secrets of new replicas were not looked up yet.' },
  secret_missing: {
    meaning:
      'A secret, or a key of one, that the deployment refers to does not exist. No container is created without it.',
    remedy: 'Write it with "moor secrets write", or correct the reference in the deployment.',
  },
  secret_forbidden: {
    meaning: 'The policy of the secrets store denies the platform this path.',
    remedy: 'Have an administrator of the secrets store grant the platform the path.',
  },
  secret_store_unavailable: {
    meaning: 'The secrets store does not answer. Containers that run are not touched, and it is tried again.',
    remedy: 'Check the secrets store and the settings secrets* of the control plane.',
  },
  secret_unreadable: {
    meaning:
      'The stored secret cannot be opened: it is sealed with a key that the servers do not have, or was altered.',
    remedy: 'Give the servers the key again, or write the secret again with "moor secrets write".',
  },
  secret_undeliverable: {
    meaning: 'The secret holds a value that cannot be an environment variable.',
    remedy: 'Write the value again without null characters and within the limits.',
  },
  secrets_unresolved: {
    meaning: 'The control plane cannot deliver the secrets of the replica now.',
    remedy: 'See the condition SecretsResolved: "moor describe deployment {name}".',
  },
  Satisfied: { meaning: 'Every replica is on a node that satisfies the residency.' },
  NoMatchingNode: {
    meaning: 'No node that can be reached satisfies the residency that the deployment asks for.',
    remedy: 'Enrol a node there, label it with its country and region, or change placement.residency.',
  },
  Violated: {
    meaning: 'A replica is on a node that breaks the residency. It is moved, unless it writes to a volume.',
    remedy: 'Check the labels of the node: "moor describe node <node>".',
  },
  EnforcementOff: {
    meaning: 'This control plane does not enforce residency, so it places no deployment that asks for one.',
    remedy: 'Set residencyEnforcement in the settings of the control plane.',
  },
  Met: { meaning: 'Every dependency is met.' },
  Unmet: {
    meaning: 'A deployment that this one depends on is not ready. It does not start before; once started it stays up.',
    remedy: 'Fix the dependency that the message names: "moor describe deployment <dependency>".',
  },
  PhaseIncomplete: {
    meaning: 'A credential is being rotated, and the phase that was asked for is not complete.',
    remedy: 'The message names what it waits for; "moor rotate {name} --phase abort" returns to the old version.',
  },
  NextPhaseNotRequested: {
    meaning: 'A credential is being rotated. Its phase is complete, and the next one was not asked for.',
    remedy: 'Ask for the next phase with "moor rotate", or run it to its end with "moor rotate {name} --auto".',
  },
  record_unusable: {
    meaning:
      'A stored record cannot be worked with: another release has stored it, or it was changed by hand. The message names it.',
    remedy:
      'A deployment: send it again with "moor apply", or delete it. A node: delete it and enrol it again. A rotation: begin it again. A job: delete it and create it again. A network: remove it from what joins it, delete it and create it again. What the control plane writes itself is rewritten.',
  },
} as const satisfies Readonly<Record<string, ReasonEntry>>;
