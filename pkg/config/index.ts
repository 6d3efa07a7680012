/**
 * Settings: every number and address that an operator may change, with its default.
 *
 * One table. A setting is read from, in rising order: its default, the configuration file (YAML, `MOORING_CONFIG` or
 * `--config`), its environment variable (`MOORING_` and the key in capitals), its flag (`--` and the key in kebab
 * case). `moor config` prints each value and its source.
 *
 * No setting holds a secret: keys and tokens are in files that a setting names.
 *
 * @module
 */
import { parseArgs } from 'node:util';

import { toFlag, InvalidSettingFault, settingsTable } from './settings.js';

export type { Settings } from './settings.js';
export { parseContainerDefaults } from './container-defaults.js';
export {
  parseCompactionInterval,
  parseQuotaSettings,
  parseRegionSettings,
  parseReservedHostPorts,
} from './parse-settings.js';
export { InvalidSettingFault, loadSettings, toEnvironment } from './settings.js';
export { settingsTable, toFlag };

/** The parsed arguments of a process. */
interface ProcessArguments {
  /** Values of settings, by the setting's key, for `loadSettings`. */
  readonly flags: Readonly<Record<string, string>>;
  /** `--config`. */
  readonly file?: string;
  /** Values of the process's own options. */
  readonly more: Readonly<Record<string, string>>;
}

/** Reads `--<setting> <value>` for every setting, `--config`, and the process's own options `more`. */
export function readArguments(argv: readonly string[], more: readonly string[] = []): ProcessArguments {
  const keys = new Map(Object.keys(settingsTable).map(key => [toFlag(key).slice('--'.length), key]));
  const names = new Set(['config', ...more, ...keys.keys()]);
  const options = Object.fromEntries([...names].map(name => [name, { type: 'string' as const }]));
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true });

  const flags: Record<string, string> = {};
  const others: Record<string, string> = {};
  for (const token of tokens) {
    if (token.kind === 'positional') throw new InvalidSettingFault(`"${token.value}" is not an option`);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (!names.has(name)) throw new InvalidSettingFault(`there is no option ${rawName}`);
    // Node's parser takes the next option as the value of one that has none.
    if (value === undefined || (!inlineValue && value.startsWith('--'))) {
      throw new InvalidSettingFault(`${rawName} needs a value`);
    }
    const key = keys.get(name);
    if (key === undefined) others[name] = value;
    else flags[key] = value;
  }
  const { config: file, ...own } = others;
  return { flags, more: own, ...(file !== undefined && { file }) };
}

const WIDTH = 32;

/** The text of `--help`: the process's own options, and every setting. */
export function formatHelp(program: string, more: Readonly<Record<string, string>>): string {
  const own = Object.entries(more).map(([name, about]) => line(`--${name} <value>`, about));
  const settings = Object.entries(settingsTable).map(([key, { about }]) => line(`${toFlag(key)} <value>`, about));
  const config = line('--config <path>', 'file with settings (MOORING_CONFIG)');
  return `Usage: ${program} [options]\n\nOptions:\n${own.join('')}${config}\nSettings ("moor config" shows their values):\n${settings.join('')}`;
}

function line(option: string, about: string): string {
  return `  ${option.padEnd(WIDTH)} ${about}\n`;
}
