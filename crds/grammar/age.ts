const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** How long ago, in at most two units: `45s`, `3m20s`, `5h`, `12d`. */
export function formatAge(since: string | undefined, now: number): string {
  const at = since === undefined ? Number.NaN : Date.parse(since);
  return Number.isNaN(at) ? '-' : formatSpan(now - at);
}

/** A duration for people. The second unit is shown only while the first is below ten. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const largest = units.findIndex(([, size]) => seconds >= size);
  if (largest === -1) return '0s';

  const [name, size] = units[largest]!;
  const count = Math.floor(seconds / size);
  const next = units[largest + 1];
  const rest = next && count < 10 ? Math.floor((seconds % size) / next[1]) : 0;
  return rest > 0 ? `${count}${name}${rest}${next![0]}` : `${count}${name}`;
}
