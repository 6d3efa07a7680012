import type { Source } from './source-files.js';

/** Reads a clock of the machine. A simulated clock is none. */
const CLOCK = /\bprocess\.(?:cpuUsage|hrtime)|\bperformance\.now\(|\bDate\.now\(|\bsystemClock\.(?:now|monotonic)\(/;
const COMPARED =
  /\.(?:below|above|most|least|within|lessThan|greaterThan|lessThanOrEqual|greaterThanOrEqual|lt|gt|lte|gte)\(/;
const DECLARATION = /\b(?:const|let) (?:\{([^}]*)\}|\[([^\]]*)\]|(\w+))(?:: [^=]+)? = ([^;]*);/g;
const ASSIGNMENT = /\b(\w+) (?:\?\?=|=|\+=) ([^;\n]*)/g;
const EXPECTATION = /\bexpect\(([^;]*);/g;

/**
 * Assertions about how long something took. A test also runs on a busy machine, where every absolute time is wrong some
 * day: hold the growth of a cost or count steps instead (dev/testing), and put figures into `make bench`.
 */
export function findAssertedTimes(sources: readonly Source[]): string[] {
  return sources.filter(({ path }) => /\.(?:test|contract)\.ts$/.test(path)).flatMap(findIn);
}

/** Tests of real processes have no simulated clock: a limit in milliseconds is one of the machine's. */
const REAL_TIME = /\.(?:etcd|docker|bao)\.test\.ts$|^e2e\/stories\//;
const LIMIT_IN_MS = /\.(?:below|most|within|lessThan)\([^)]*(?:_MS\b|SECONDS\b)/;

function findIn({ path, text }: Source): string[] {
  const measured = measuredNames(text);
  const isMeasured = (expression: string) =>
    CLOCK.test(expression) || [...expression.matchAll(/\b[A-Za-z_]\w*/g)].some(([name]) => measured.has(name));
  return [...text.matchAll(EXPECTATION)]
    .filter(
      ([all, body]) => (COMPARED.test(all) && isMeasured(body!)) || (REAL_TIME.test(path) && LIMIT_IN_MS.test(all)),
    )
    .map(({ index }) => `${path}:${text.slice(0, index).split('\n').length}: asserts an absolute time`);
}

/** Names whose value is the difference of two clock readings, and names that are computed from such. */
function measuredNames(text: string): ReadonlySet<string> {
  const measured = new Set<string>();
  const isDuration = (expression: string) =>
    (CLOCK.test(expression) && /[^=]-|cpuUsage\(\w/.test(expression) && !/=>\s*\{/.test(expression)) ||
    [...expression.matchAll(/\b[A-Za-z_]\w*/g)].some(([name]) => measured.has(name));
  for (let before = -1; before < measured.size; ) {
    before = measured.size;
    for (const [, object, list, single, expression] of text.matchAll(DECLARATION)) {
      if (!isDuration(expression!)) continue;
      for (const part of (object ?? list ?? single ?? '').split(',')) measured.add(part.split(':').at(-1)!.trim());
    }
    for (const [, name, expression] of text.matchAll(ASSIGNMENT)) if (isDuration(expression!)) measured.add(name!);
    measured.delete('');
  }
  return measured;
}
