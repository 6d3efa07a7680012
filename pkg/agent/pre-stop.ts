import { asError } from '../fault/index.js';
import type { AgentEnv } from './agent-env.js';

/** What a container has between the signal and the kill, however long its preStop took. */
const MIN_GRACE_SECONDS = 1;

/** A container that is about to be stopped, and what a deployment has run in it before. */
export interface PreStop {
  readonly replica: string;
  readonly container: string;
  readonly command: readonly string[];
  /** The whole time that it has to stop, in seconds. */
  readonly grace: number;
}

/**
 * Runs the command that a deployment has before its containers end. Answers what is left of their time, in seconds. Whatever
 * becomes of the command, the container is stopped after it.
 */
export async function runPreStop(
  { clock, engine, log }: Pick<AgentEnv, 'clock' | 'engine' | 'log'>,
  { replica, container, command, grace }: PreStop,
): Promise<number> {
  const begun = clock.monotonic();
  try {
    const exitCode = await engine.exec(container, command, grace * 1000);
    if (exitCode !== 0) log.warn('preStop did not succeed', { replica, because: `exit code ${exitCode ?? 'unknown'}` });
  } catch (thrown) {
    log.warn('preStop could not be run, stopping without it', { replica, error: asError(thrown) });
  }
  return Math.max(MIN_GRACE_SECONDS, Math.ceil(grace - (clock.monotonic() - begun) / 1000));
}
