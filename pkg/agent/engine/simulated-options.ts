import type { NodeFeature } from '../../../crds/node/index.js';
import type { ContainerHealth } from '../../../crds/report/index.js';
import type { Clock, Random } from '../../clock/index.js';
import type { ContainerStatus, ContainerUsage, ImageLogin, OnEngineEvent, PullFailure } from './engine.js';

/** The calls of a simulated engine that can be slow or fail. */
export type EngineOperation = 'facts' | 'list' | 'inspect' | 'pull' | 'create' | 'start' | 'stop' | 'remove' | 'logs';

/** Receives the events of the containers of a node. */
export interface EngineListener {
  readonly nodeId: string;
  readonly onEvent: OnEngineEvent;
}

export interface SimulatedEngineOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the registry has an image. Default: every image. */
  readonly registryHasImage?: (image: string) => boolean;
  /** Why a pull with this login fails. Default: none does. */
  readonly refusePull?: (image: string, login: ImageLogin | undefined) => PullFailure | undefined;
  /** How long a call takes. Default: no time. */
  readonly latencyMs?: (operation: EngineOperation) => number;
  /** The error of a call, before or after it takes effect. Default: none. */
  readonly failure?: (operation: EngineOperation, when: 'before' | 'after') => Error | undefined;
  /** From start to healthy, where a health check is declared. */
  readonly healthyAfterMs?: number;
  /** What the health check of an image says then. Default: that it is healthy. */
  readonly health?: (image: string) => ContainerHealth;
  /** What a container uses. Default: nothing is known of it. */
  readonly usage?: (container: ContainerStatus) => ContainerUsage | undefined;
  /** What it cannot do. Default: it can do everything. */
  readonly lacks?: readonly NodeFeature[];
  /** It starts no container twice. */
  readonly startsOnce?: true;
  readonly cpu?: number;
  readonly memory?: number;
}
