import { toFlag, loadSettings, type Settings, settingsTable } from '../../config/index.js';
import { readProductVersion } from '../../version/index.js';
import { type ExitCode, exitCode, UsageFault } from '../../terminal/index.js';
import { formatTable } from '../print/table.js';
import { formatDocument, type OutputFormat, stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';

interface ConfigInput {
  /** Path of the configuration file. */
  readonly config?: string;
  /** Those of the server in use, instead of those that a server started here would have. */
  readonly running?: boolean;
  readonly output: OutputFormat;
}

interface RunningView {
  readonly version: string;
  readonly settings: Settings;
}

/** Prints every setting of the servers, its value, and where the value was read. */
export const config: Command<ConfigInput> = async (session, { config: file, running, output }) => {
  if (running && file !== undefined) throw new UsageFault('--running and --config exclude each other.');
  if (running) return printRunning(session, output);
  const { settings, origins } = loadSettings({ environment: session.terminal.environment, file });
  return printSettings(session, settings, key => origins[key], output);
};

/** A server does not say where it read a setting: what is as declared counts as the default. */
async function printRunning(session: Session, output: OutputFormat): Promise<ExitCode> {
  const client = await session.connect('platform');
  const answer = await client.request<RunningView>('GET', '/api/v1/config');
  if (!answer.ok) return session.reportRejection(answer);
  const { version, settings } = answer.value;
  session.terminal.err(`${session.ink.dim(`API server ${stripControls(version)} at ${client.server.origin}`)}\n`);
  const isDefault = (key: SettingKey) => formatValue(settings[key]) === formatValue(settingsTable[key].default);
  return printSettings(session, settings, key => (isDefault(key) ? 'default' : 'set'), output);
}

type SettingKey = keyof Settings;

async function printSettings(
  { terminal, ink }: Session,
  settings: Settings,
  originOf: (key: SettingKey) => string,
  output: OutputFormat,
): Promise<ExitCode> {
  if (output === 'json' || output === 'yaml') {
    terminal.out(await formatDocument(settings, output));
    return exitCode.ok;
  }
  // A server of another release may know other settings.
  const keys = (Object.keys(settingsTable) as SettingKey[]).filter(key => settings[key] !== undefined);
  const rows = keys.map(key => [
    key,
    { text: formatValue(settings[key]), ...(originOf(key) === 'default' ? {} : { paint: ink.cyan }) },
    originOf(key),
    output === 'wide' ? `${toFlag(key)}: ${settingsTable[key].about}` : settingsTable[key].about,
  ]);
  terminal.out(
    formatTable(['SETTING', 'VALUE', 'FROM', 'MEANING'], rows, output === 'wide' ? undefined : terminal.width),
  );
  return exitCode.ok;
}

function formatValue(value: string | number | boolean | readonly string[]): string {
  if (typeof value === 'object') return value.join(',');
  return value === '' ? '""' : String(value);
}

/** Prints the version of this command, of Node.js and of the platform. */
export const printVersion: Command<Record<never, never>> = async ({ terminal }) => {
  terminal.out(`moor ${readProductVersion()} (node ${process.versions.node}, ${process.platform} ${process.arch})\n`);
  return exitCode.ok;
};
