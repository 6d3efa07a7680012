import { formatBytes } from '../grammar/index.js';

/** How much of an image has arrived, of the layers whose size the engine has reported so far. */
export interface PullProgress {
  readonly receivedBytes: number;
  readonly totalBytes: number;
}

/** `120MiB of 300MiB (40 %)` */
export function describePull({ receivedBytes, totalBytes }: PullProgress): string {
  return `${formatBytes(receivedBytes)} of ${formatBytes(totalBytes)} (${toPercent({ receivedBytes, totalBytes })} %)`;
}

/** Rounded down: nothing is whole before it is. */
export function toPercent({ receivedBytes, totalBytes }: PullProgress): number {
  return totalBytes <= 0 ? 0 : Math.min(100, Math.floor((receivedBytes / totalBytes) * 100));
}

/** A pull that takes no longer is not worth a write. */
const FIRST_MS = 3_000;
const EVERY_MS = 5_000;
/** With this share of the image more, at the least: however long a pull takes, it causes few writes. */
const STEP = 0.05;

/** When progress of a pull was last reported, and what. */
export interface LastPullReport {
  /** When the pull began, or was last reported. */
  readonly at: number;
  readonly progress?: PullProgress;
}

/** Whether progress is worth a write: each is read by every watch of the deployment. */
export function isPullNews(last: LastPullReport, { receivedBytes, totalBytes }: PullProgress, now: number): boolean {
  if (totalBytes <= 0) return false;
  if (!last.progress) return now - last.at >= FIRST_MS;
  return now - last.at >= EVERY_MS && receivedBytes - last.progress.receivedBytes >= STEP * totalBytes;
}
