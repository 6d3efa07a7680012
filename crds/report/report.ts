/** `removed` is the agent's word that no container of this replica exists any more. */
export type ContainerState = 'pulling' | 'creating' | 'running' | 'exited' | 'failed' | 'stopping' | 'removed';

/** `none` means that no health check was declared: running is then all that is asked. */
export type ContainerHealth = 'none' | 'starting' | 'healthy' | 'unhealthy';

/** `reports/<tenant>/<nodeId>/<replica uid>`. */
export interface Report {
  readonly replica: string;
  readonly deployment: string;
  readonly slot: number;
  readonly nodeId: string;
  readonly templateHash: string;
  readonly state: ContainerState;
  readonly health: ContainerHealth;
  readonly restarts: number;
  readonly containerId?: string;
  readonly exitCode?: number;
  /** One word for programs when something is wrong: `image_pull_failed`, `create_failed`, `crash_loop` … */
  readonly reason?: string;
  /** For people. Never holds output of the container: it might hold a secret. */
  readonly message?: string;
  readonly at: string;
}

/** Whether a container does its work: it runs, and its health check, if it has one, passes. */
export function isReady(report: Report | undefined): boolean {
  return report?.state === 'running' && (report.health === 'none' || report.health === 'healthy');
}
