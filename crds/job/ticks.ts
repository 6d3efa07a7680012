import { Cron } from 'croner';

/** When a schedule comes due: whole minutes, in milliseconds since 1970. */
export interface Ticks {
  /** The first one after a time. Undefined when none comes any more. */
  readonly findNext: (afterMs: number) => number | undefined;
  /** The last one at or before a time. */
  readonly findLast: (atMs: number) => number | undefined;
}

const MINUTE_MS = 60_000;

/**
 * The ticks of five fields of cron, or of a word such as `@daily`, in a time zone. Undefined when one of the two is not known.
 *
 * An hour that daylight saving takes away has its ticks right after it; those of an hour that comes twice come once, unless every
 * hour has them.
 */
export function parseSchedule(schedule: string, timeZone: string): Ticks | undefined {
  const cron = readCron(schedule, timeZone);
  return (
    cron && {
      findNext: afterMs => cron.nextRun(new Date(afterMs))?.getTime(),
      findLast: atMs => cron.previousRuns(1, new Date(floorToMinute(atMs) + 1000))[0]?.getTime(),
    }
  );
}

/** Parsed schedules: each is needed whenever something happens to its job, and parsing takes longer than evaluating. */
const known = new Map<string, Cron>();
const KNOWN_MAX = 1000;
/** Longer ones are parsed each time: they are not written by hand. */
const KNOWN_LENGTH_MAX = 100;

function readCron(schedule: string, timeZone: string): Cron | undefined {
  const text = `${timeZone} ${schedule}`;
  const cron = known.get(text) ?? createCron(schedule, timeZone);
  if (known.size >= KNOWN_MAX) known.clear();
  if (cron && text.length <= KNOWN_LENGTH_MAX) known.set(text, cron);
  return cron;
}

/** Croner does not look at the time zone before it is asked. */
function createCron(schedule: string, timeZone: string): Cron | undefined {
  if (!isTimeZone(timeZone)) return undefined;
  try {
    return new Cron(schedule, { paused: true, timezone: timeZone, mode: '5-part' });
  } catch {
    return undefined;
  }
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function floorToMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS;
}

/** The longest name of a job with a schedule: with what a run adds to it, it is still a DNS label. */
export const SCHEDULED_NAME_MAX = 52;

/** The name of the run of a tick: the same however often it is asked for. */
export function formatRunName(name: string, tick: number): string {
  return `${name}-${Math.floor(tick / MINUTE_MS)}`;
}
