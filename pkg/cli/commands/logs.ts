import { exitCode } from '../exit-code.js';
import { UsageFault } from '../faults.js';
import { deployments } from '../kinds.js';
import type { Command } from '../session.js';
import { followLoop } from '../loop-log.js';

interface LogsInput {
  readonly name: string | undefined;
  readonly follow: boolean;
  readonly tail: number | undefined;
  readonly replica: number | undefined;
  /** The loop whose log to show instead of a deployment's. */
  readonly controllers: string | undefined;
}

/** Shows what a deployment's containers print, or what one loop of the all-in-one logs. */
export const logs: Command<LogsInput> = async (session, { name, follow, tail, replica, controllers }) => {
  const { terminal } = session;
  if (controllers !== undefined) return followLoop(session, { loop: controllers, follow, tail });
  if (name === undefined) throw new UsageFault('name a deployment, or a loop with --controllers.');

  const client = await session.connect();
  const answer = await client.stream(`${deployments.path}/${encodeURIComponent(name)}/logs`, {
    query: { follow: follow || undefined, tail, replica },
    headers: { accept: 'text/plain' },
    signal: terminal.interrupted,
  });
  if (!answer.ok) return session.refused(answer);
  const decoder = new TextDecoder();
  try {
    for await (const chunk of answer.body) terminal.out(decoder.decode(chunk, { stream: true }));
  } catch (thrown) {
    if (!terminal.interrupted.aborted) throw thrown;
  }
  return exitCode.ok;
};
