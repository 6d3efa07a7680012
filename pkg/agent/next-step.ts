import type { SeenContainer } from './engine/index.js';

/**
 * What is wanted of a replica: that it runs, that it retires, or nothing because it is no longer assigned here.
 * `unknown` until the control plane has spoken, and `outdated` when it asks for less than it has asked for before.
 */
export type Wanted = 'run' | 'retire' | 'nothing' | 'unknown' | 'outdated';

/** All that the next step of one replica depends on. */
export interface Situation {
  readonly wanted: Wanted;
  /** The container as it was last seen; undefined when it is known that there is none. */
  readonly container: SeenContainer | undefined;
  /** The engine has said that it does not hold the image. */
  readonly imageMissing: boolean;
  /** How long a container that ended must still rest before it is started again. */
  readonly restMs: number;
}

/** The one thing to do next. `settled` and `leave` end the work until something changes. */
export type Step =
  | {
      readonly kind:
        | 'pull'
        | 'create'
        | 'start'
        | 'restart'
        | 'stop'
        | 'remove'
        | 'gone'
        | 'settled'
        | 'refuse'
        | 'leave';
    }
  | { readonly kind: 'rest'; readonly ms: number };

/**
 * Decides the next step that brings one replica's container into line.
 *
 * A pure function of what is known, so that it may be asked again after any step, any failure and any restart.
 */
export function nextStep({ wanted, container, imageMissing, restMs }: Situation): Step {
  switch (wanted) {
    case 'unknown':
      return { kind: 'leave' };
    case 'outdated':
      return { kind: 'refuse' };
    case 'retire':
    case 'nothing':
      if (!container) return { kind: 'gone' };
      return { kind: container.state === 'running' ? 'stop' : 'remove' };
    case 'run':
      if (!container) return { kind: imageMissing ? 'pull' : 'create' };
      if (container.state === 'created') return { kind: 'start' };
      if (container.state === 'running') return { kind: 'settled' };
      return restMs > 0 ? { kind: 'rest', ms: restMs } : { kind: 'restart' };
  }
}
