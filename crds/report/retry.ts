/** When the next attempt follows; after that one every so many seconds, while the cause stays the same. */
export interface RetrySchedule {
  readonly at: string;
  readonly everySeconds?: number;
}

/** The time of the next attempt, in milliseconds. It may have passed when the schedule names one attempt only. */
export function findNextRetry({ at, everySeconds }: RetrySchedule, now: number): number {
  const first = Date.parse(at);
  if (everySeconds === undefined || now < first) return first;
  const every = everySeconds * 1000;
  return first + (Math.floor((now - first) / every) + 1) * every;
}
