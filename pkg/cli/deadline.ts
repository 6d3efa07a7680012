import type { Terminal } from './terminal.js';

/** When to stop waiting: Ctrl-C, or the time that was given. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly passed: boolean;
  end(): void;
}

export function startDeadline({ clock, interrupted }: Terminal, ms: number | undefined): Deadline {
  const late = new AbortController();
  const cancel = ms === undefined ? () => undefined : clock.after(ms, () => late.abort());
  return {
    signal: AbortSignal.any([interrupted, late.signal]),
    get passed() {
      return late.signal.aborted;
    },
    end: cancel,
  };
}
