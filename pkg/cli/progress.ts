import { sleep } from '../clock/index.js';
import type { Session } from './session.js';

/** What is left of something that takes a while: a line for all of it, and lines for its parts. */
export interface ProgressView {
  readonly summary: string;
  readonly parts: readonly string[];
}

/** Nothing is shown of what is over by then. */
const FIRST_MS = 1_000;
const EVERY_MS = 2_000;

/**
 * Shows what is left until `signal` is aborted: on a terminal in one place, which is empty in the end; in a pipe a line
 * on standard error at each change. A look that fails or has nothing to say leaves what is shown.
 */
export async function showProgress(
  { terminal }: Session,
  signal: AbortSignal,
  look: () => ProgressView | undefined | Promise<ProgressView | undefined>,
): Promise<void> {
  const { clock, live } = terminal;
  let printed = '';
  for (let wait = FIRST_MS; ; wait = EVERY_MS) {
    await sleep(clock, wait, signal);
    if (signal.aborted) break;
    const progress = await Promise.resolve()
      .then(look)
      .catch(() => undefined);
    if (signal.aborted) break;
    if (!progress) continue;
    const { summary, parts } = progress;
    if (live) live.draw([summary, ...parts.map(part => `  ${part}`)]);
    else if (summary !== printed) terminal.err(`${summary}\n`);
    printed = summary;
  }
  if (live && printed !== '') live.draw([]);
}
