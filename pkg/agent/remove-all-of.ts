import { type AgentEnv, type AgentOptions, STOP_GRACE_SECONDS } from './agent-env.js';

/**
 * Removes every container that was made for nodes that this machine no longer is. Their owner has let go of the machine:
 * nobody else would ever remove them.
 */
export async function removeAllOf(
  nodeIds: readonly string[],
  { engine, log }: Pick<AgentEnv, 'engine' | 'log'>,
  { stopGraceSeconds = STOP_GRACE_SECONDS }: Pick<AgentOptions, 'stopGraceSeconds'>,
): Promise<void> {
  for (const nodeId of nodeIds) {
    for (const { id, owner, state } of await engine.list(nodeId)) {
      if (state === 'running') await engine.stop(id, stopGraceSeconds);
      await engine.remove(id);
      log.info('container of a former owner removed', { replica: owner.replica, container: id });
    }
  }
}
