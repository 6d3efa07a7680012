import parse from 'parse-duration';

const CPU = /^(?:(\d{1,7})m|(\d{1,4})(?:\.(\d{1,3}))?)$/;
const MEMORY = /^(\d{1,16})(Ki|Mi|Gi|Ti|k|M|G|T)?$/;

const UNITS: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

/** Thousandths of a core: `500m` → 500, `1.5` → 1500. */
export function parseCpu(text: string): number | undefined {
  const match = CPU.exec(text);
  if (!match) return undefined;
  const [, millis, cores, fraction = ''] = match;
  return millis === undefined ? Number(cores) * 1000 + Number(fraction.padEnd(3, '0')) : Number(millis);
}

/** Bytes: `256Mi` → 268435456, `1G` → 1000000000. */
export function parseMemory(text: string): number | undefined {
  const match = MEMORY.exec(text);
  if (!match) return undefined;
  const bytes = Number(match[1]) * (match[2] === undefined ? 1 : UNITS[match[2]]!);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

const BYTE_STEPS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Thousandths of a core for people, in cores: `2`, `0.5`. */
export function formatCores(millis: number): string {
  return String(Math.round(millis / 10) / 100);
}

/** Bytes for people: `512MiB`, `7.6GiB`. */
export function formatBytes(count: number): string {
  const step = byteStep(count);
  const value = count / 1024 ** step;
  return `${value >= 100 ? Math.round(value) : Math.round(value * 10) / 10}${BYTE_STEPS[step]}`;
}

/** An amount as it is written in a spec: `500m cpu`, `64Mi memory`, and `1 container`, `3 containers` for what is only counted. */
export function formatAmount(kind: string, amount: number): string {
  if (kind === 'cpu') return `${amount}m cpu`;
  if (kind === 'memory') return `${Math.floor(amount / 2 ** 20)}Mi memory`;
  return formatCount(amount, kind.replace(/s$/, ''), kind);
}

/** `1 replica`, `2 replicas`, and `2 entries` where the plural is given. */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** What is free of a whole: `cpu 1.8 of 2`, `memory 23 of 24 GiB`. Rounded down, so that no more is promised than exists. */
export function formatFree(kind: 'cpu' | 'memory', free: number, whole: number): string {
  const step = kind === 'cpu' ? 0 : Math.min(3, Math.max(2, byteStep(whole)));
  const unit = kind === 'cpu' ? 1000 : 1024 ** step;
  const [left, all] = [free, whole].map(amount => Math.floor((amount / unit) * 10) / 10);
  return `${kind} ${left} of ${all}${kind === 'cpu' ? '' : ` ${BYTE_STEPS[step]}`}`;
}

function byteStep(count: number): number {
  return count < 1 ? 0 : Math.min(BYTE_STEPS.length - 1, Math.floor(Math.log2(count) / 10));
}

// parse-duration reads far more than durations (`10s; rm`, `1h-5m`): only what Go would accept reaches it.
const DURATION = /^(?:\d{1,15}(?:\.\d{1,9})?(?:ns|us|µs|ms|s|m|h))+$/;
const LONGEST = 64;

/** Milliseconds of a duration such as `10s` or `1m30s`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text.length > LONGEST || !DURATION.test(text)) return undefined;
  return parse(text) ?? undefined;
}
