import { asError } from '../../fault/index.js';
import type { AgentEnv } from '../agent-env.js';

/** What a container has between the signal and the kill, however long its preStop took. */
const MIN_GRACE_SECONDS = 1;

/** A container that is about to be stopped, and what a deployment has run in it before. */
export interface PreStop {
  readonly replica: string;
  readonly container: string;
  /** Undefined where nothing is run. */
  readonly command: readonly string[] | undefined;
  /** The whole time that it has to stop, in seconds. */
  readonly grace: number;
}

type StopEnv = Pick<AgentEnv, 'clock' | 'engine' | 'log'>;

/** Stops a container after its preStop, whatever becomes of that. */
export async function stopContainer(env: StopEnv, stop: PreStop): Promise<void> {
  const { container, command, grace } = stop;
  await env.engine.stop(container, command ? await runPreStop(env, { ...stop, command }) : grace);
}

/** Runs the command that a deployment has before its containers end. Answers what is left of their time, in seconds. */
async function runPreStop(
  { clock, engine, log }: StopEnv,
  { replica, container, command, grace }: PreStop & { readonly command: readonly string[] },
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
