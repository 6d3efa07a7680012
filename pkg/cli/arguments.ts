import { InvalidArgumentError, Option } from 'commander';

import { formats } from './print/text.js';

/** `-o`, of every command that prints objects. */
export function outputOption(): Option {
  return new Option('-o, --output <format>', 'output format').choices([...formats]).default('table');
}

/** Reads `90s`, `5m`, `1h30m` as milliseconds. */
export function parseDurationOption(text: string): number {
  const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
  if (!/^(\d+(ms|s|m|h))+$/.test(text)) throw new InvalidArgumentError('Write it as 90s, 5m or 1h30m.');
  return [...text.matchAll(/(\d+)(ms|s|m|h)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * units[unit as keyof typeof units],
    0,
  );
}

/** Reads a whole number that is not negative. */
export function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Must be a whole number, 0 or more.');
}
