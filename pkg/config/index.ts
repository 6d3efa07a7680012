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
export type { Arguments } from './arguments.js';
export { readArguments } from './arguments.js';
export { declaredQuotas } from './declared-quotas.js';
export { declaredRegions } from './declared-regions.js';
export { InvalidSettingFault } from './faults.js';
export { argumentsHelp } from './help.js';
export type { Origin, Settings } from './settings.js';
export { environmentVariable, flagOf, loadSettings, settingsTable } from './settings.js';
