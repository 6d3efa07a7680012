/**
 * Settings: every number and address that an operator may change, with its default.
 *
 * One table. A setting is read from, in rising order: its default, the configuration file (YAML, `MOORING_CONFIG` or
 * `--config`), its environment variable (`MOORING_` and the key in capitals), its flag (`--` and the key in kebab
 * case). `moor config` prints the result and where each value came from.
 *
 * No setting holds a secret: keys and tokens are in files that a setting names.
 *
 * @module
 */
export type { ProcessArguments } from './arguments.js';
export { formatHelp, readArguments } from './arguments.js';
export type { SettingOrigin, Settings } from './settings.js';
export {
  parseQuotaSettings,
  parseRegionSettings,
  toEnvironmentVariable,
  toFlag,
  InvalidSettingFault,
  loadSettings,
  settingsTable,
} from './settings.js';
