import { toFlag, loadSettings, settingsTable } from '../../config/index.js';
import { readProductVersion } from '../../version/index.js';
import { exitCode } from '../exit-code.js';
import { formatTable } from '../print/table.js';
import { formatDocument, type OutputFormat } from '../print/text.js';
import type { Command } from '../session.js';

interface ConfigInput {
  /** Path of the configuration file. */
  readonly config?: string;
  readonly output: OutputFormat;
}

/** Prints every setting of the servers, its value, and where the value was read. */
export const config: Command<ConfigInput> = async ({ terminal, ink }, { config: file, output }) => {
  const { settings, origins } = loadSettings({ environment: terminal.environment, file });
  if (output === 'json' || output === 'yaml') {
    terminal.out(await formatDocument(settings, output));
    return exitCode.ok;
  }
  const keys = Object.keys(settingsTable) as (keyof typeof settings)[];
  const rows = keys.map(key => [
    key,
    { text: formatValue(settings[key]), ...(origins[key] === 'default' ? {} : { paint: ink.cyan }) },
    origins[key],
    output === 'wide' ? `${toFlag(key)}: ${settingsTable[key].about}` : settingsTable[key].about,
  ]);
  terminal.out(
    formatTable(['SETTING', 'VALUE', 'FROM', 'MEANING'], rows, output === 'wide' ? undefined : terminal.width),
  );
  return exitCode.ok;
};

function formatValue(value: string | number | boolean | readonly string[]): string {
  if (typeof value === 'object') return value.join(',');
  return value === '' ? '""' : String(value);
}

/** Prints the version of this command, of Node.js and of the platform. */
export const printVersion: Command<Record<never, never>> = async ({ terminal }) => {
  terminal.out(`moor ${readProductVersion()} (node ${process.versions.node}, ${process.platform} ${process.arch})\n`);
  return exitCode.ok;
};
