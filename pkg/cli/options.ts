import { type Command as Commander, InvalidArgumentError, Option } from 'commander';

import { type OutputFormat, outputFormats } from './print/text.js';
import type { Command } from './session.js';

/** Loads a command and runs it with its input. */
export type Run = <Input>(load: () => Promise<Command<Input>>, input: Input) => Promise<void>;

/** Options as commander passes them: absent when they were not given. Each command declares those that it takes. */
export type Options = Readonly<Record<string, never>>;

/** `-o`, of every command that prints objects. */
export function outputOption(): Option {
  return new Option('-o, --output <format>', 'output format').choices(outputFormats).default('table');
}

/** Parses `90s`, `5m`, `1h30m` to milliseconds. */
export function parseDurationOption(text: string): number {
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
  if (!/^(\d+(ms|s|m|h))+$/.test(text)) throw new InvalidArgumentError('Write it as 90s, 5m or 1h30m.');
  return [...text.matchAll(/(\d+)([a-z]+)/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * units[unit!]!,
    0,
  );
}

/** Parses a whole number that is not negative. */
export function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Must be a whole number, 0 or more.');
}

/** `list`, which a group does by itself. */
export function addList(group: Commander, run: Run): void {
  group
    .command('list', { isDefault: true })
    .description('list all')
    .addOption(outputOption())
    .action(({ output }: { output: OutputFormat }) =>
      run(async () => (await import('./commands/get.js')).get, { kind: group.name(), output }),
    );
}
