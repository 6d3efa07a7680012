import { spawn } from 'node:child_process';

import type { Clock } from '../clock/index.js';

/** Of the time after which systemd takes the agent for dead, one third: two signs of life may be lost. */
const SHARE = 3;

/**
 * Notifies systemd that the agent has started and, at intervals, that it is alive: one that hangs is killed and restarted.
 * Does nothing where it was not started by a unit of `Type=notify`.
 */
export function notifySystemd(
  { NOTIFY_SOCKET, WATCHDOG_USEC }: NodeJS.ProcessEnv,
  clock: Clock,
  signal: AbortSignal,
  send: (word: string) => void = notify,
): void {
  if (!NOTIFY_SOCKET) return;
  send('READY=1');
  const everyMs = Number(WATCHDOG_USEC) / 1000 / SHARE;
  if (!(everyMs > 0)) return;
  const beat = () => {
    if (signal.aborted) return;
    send('WATCHDOG=1');
    clock.after(everyMs, beat);
  };
  beat();
}

/** Node has no datagram socket of the kind that systemd listens on. */
function notify(word: string): void {
  spawn('systemd-notify', [word], { stdio: 'ignore' })
    .on('error', () => undefined)
    .unref();
}
