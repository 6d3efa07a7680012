import type { PullProgress } from '../../../crds/report/index.js';
/** Called whenever the engine says how far a pull is; in bytes, where it says so. */
export type OnPullProgress = (progress?: PullProgress) => void;

/** What a container may use at most. */
export interface ContainerLimits {
  /** In thousandths of a core. */
  readonly cpu?: number;
  /** In bytes; no swap beside it. */
  readonly memory?: number;
  /** Processes; the driver's own limit stays where it is lower. */
  readonly pids?: number;
}

/** A folder of this machine in a container, or memory. */
export type ContainerMount =
  | { readonly kind: 'bind'; readonly source: string; readonly target: string; readonly readOnly: boolean }
  | { readonly kind: 'tmpfs'; readonly target: string; readonly readOnly: boolean; readonly sizeBytes: number };
