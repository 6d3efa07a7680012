import parse from 'parse-duration';

// parse-duration reads far more than durations (`10s; rm`, `1h-5m`): only what Go would accept reaches it.
const DURATION = /^(?:\d{1,15}(?:\.\d{1,9})?(?:ns|us|µs|ms|s|m|h))+$/;
const LONGEST = 64;

/** Milliseconds of a duration such as `10s` or `1m30s`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text.length > LONGEST || !DURATION.test(text)) return undefined;
  return parse(text) ?? undefined;
}
