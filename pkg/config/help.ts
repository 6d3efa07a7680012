import { flagOf, settingsTable } from './settings.js';

const WIDTH = 32;

/** What a process takes: its own options, and every setting. */
export function argumentsHelp(program: string, more: Readonly<Record<string, string>>): string {
  const own = Object.entries(more).map(([name, about]) => line(`--${name} <value>`, about));
  const settings = Object.entries(settingsTable).map(([key, { about }]) => line(`${flagOf(key)} <value>`, about));
  const config = line('--config <path>', 'file with settings (MOORING_CONFIG)');
  return `Usage: ${program} [options]\n\nOptions:\n${own.join('')}${config}\nSettings ("moor config" shows their values):\n${settings.join('')}`;
}

function line(option: string, about: string): string {
  return `  ${option.padEnd(WIDTH)} ${about}\n`;
}
