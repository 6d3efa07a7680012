const steps = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes for people: `512MiB`, `7.6GiB`. */
export function bytes(count: number): string {
  const step = count < 1 ? 0 : Math.min(steps.length - 1, Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** step;
  return `${value >= 100 ? Math.round(value) : Math.round(value * 10) / 10}${steps[step]}`;
}

/** Thousandths of a core for people: `2`, `0.5`. */
export function cores(thousandths: number): string {
  return String(Math.round(thousandths / 10) / 100);
}
