import { setTimeout as pause } from 'node:timers/promises';

import type { DockerApi } from './docker-api.js';

const POLL_MS = 100;

/** Runs a command in a running container and waits for its end, at most so long. Undefined when it has not ended, or could not be run. */
export async function runInContainer(
  api: DockerApi,
  id: string,
  command: readonly string[],
  withinMs: number,
): Promise<number | undefined> {
  const until = performance.now() + withinMs;
  const body = { Cmd: command, AttachStdout: false, AttachStderr: false, Tty: false };
  const gone = [404, 409]; // or it does not run any more
  const made = await api.call<{ Id: string }>('POST', `/containers/${id}/exec`, { body, expected: gone });
  if (made.status >= 400) return undefined;
  const path = `/exec/${made.body.Id}`;
  const refused = [400, ...gone, 500]; // the container has no such program
  const started = await api.call('POST', `${path}/start`, { body: { Detach: true }, expected: refused });
  if (started.status >= 400) return undefined;
  for (;;) {
    const seen = await api.call<{ Running: boolean; ExitCode: number | null }>('GET', `${path}/json`, {
      expected: gone,
    });
    if (seen.status >= 400) return undefined;
    if (!seen.body.Running) return seen.body.ExitCode ?? undefined;
    const left = until - performance.now();
    if (left <= 0) return undefined;
    await pause(Math.min(left, POLL_MS));
  }
}
