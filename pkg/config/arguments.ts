import { parseArgs } from 'node:util';

import { toFlag, InvalidSettingFault, settingsTable } from './settings.js';

/** What the arguments of a process say. */
export interface ProcessArguments {
  /** Values of settings, by the setting's key, for `loadSettings`. */
  readonly flags: Readonly<Record<string, string>>;
  /** `--config`. */
  readonly file?: string;
  /** Values of the further options that were named. */
  readonly more: Readonly<Record<string, string>>;
}

/** Reads `--<setting> <value>` for every setting there is, `--config`, and further options by name. */
export function readArguments(argv: readonly string[], more: readonly string[] = []): ProcessArguments {
  const options: Record<string, { type: 'string' }> = { config: { type: 'string' } };
  for (const name of more) options[name] = { type: 'string' };
  const keyOf = new Map(Object.keys(settingsTable).map(key => [toFlag(key).slice('--'.length), key]));
  for (const flag of keyOf.keys()) options[flag] = { type: 'string' };

  const { config: file, ...given } = parsed(argv, options);
  const flags: Record<string, string> = {};
  const others: Record<string, string> = {};
  for (const [flag, text] of Object.entries(given)) {
    if (text === undefined) continue;
    const key = keyOf.get(flag);
    if (key === undefined) others[flag] = text;
    else flags[key] = text;
  }
  return { flags, more: others, ...(file !== undefined && { file }) };
}

function parsed(argv: readonly string[], options: Record<string, { type: 'string' }>) {
  const { values, tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') throw new InvalidSettingFault(`"${token.value}" is not an option`);
    if (token.kind === 'option') checkOption(token, options);
  }
  return values as Readonly<Record<string, string | undefined>>;
}

interface Given {
  readonly name: string;
  /** As it was written, dashes included. */
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/** The parser of Node would take the next option for a value that is missing. */
function checkOption({ name, rawName, value, inlineValue }: Given, options: Readonly<Record<string, unknown>>): void {
  if (!Object.hasOwn(options, name)) throw new InvalidSettingFault(`there is no option ${rawName}`);
  if (value === undefined || (!inlineValue && value.startsWith('--'))) {
    throw new InvalidSettingFault(`${rawName} needs a value`);
  }
}

const WIDTH = 32;

/** What a process takes: its own options, and every setting. */
export function formatHelp(program: string, more: Readonly<Record<string, string>>): string {
  const own = Object.entries(more).map(([name, about]) => line(`--${name} <value>`, about));
  const settings = Object.entries(settingsTable).map(([key, { about }]) => line(`${toFlag(key)} <value>`, about));
  const config = line('--config <path>', 'file with settings (MOORING_CONFIG)');
  return `Usage: ${program} [options]\n\nOptions:\n${own.join('')}${config}\nSettings ("moor config" shows their values):\n${settings.join('')}`;
}

function line(option: string, about: string): string {
  return `  ${option.padEnd(WIDTH)} ${about}\n`;
}
