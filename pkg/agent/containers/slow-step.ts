import type { StepFailure } from './next-step.js';

/** A step of the engine that may be slow: the state that it is reported as, and how long it may take beyond the usual. */
export interface SlowStep {
  readonly state: 'pulling' | 'creating' | 'stopping';
  readonly allowedMs?: number;
}

/** What is reported of a step that the engine does not finish. */
export const STUCK: Readonly<Record<SlowStep['state'], StepFailure>> = {
  pulling: {
    reason: 'pull_stuck',
    message:
      'the container engine has received nothing of the image for a minute: check that the node reaches the registry, and look at the log of the engine; it is tried again by itself',
  },
  creating: {
    reason: 'create_stuck',
    message:
      'the container engine does not finish creating or starting the container: look at the log and the load of the engine of this node, and restart it if it hangs',
  },
  stopping: {
    reason: 'stop_stuck',
    message:
      'the container engine does not finish stopping or removing the container: look at the log of the engine of this node, for example for a process that cannot be killed, and restart the engine or the machine',
  },
};
