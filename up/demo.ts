import { fileURLToPath } from 'node:url';

import { developmentFile, type ExitCode, run, type Terminal } from '../pkg/cli/index.js';
import type { Home } from './home.js';

const PATIENCE = '120s';

/** Declares the demo deployment and waits until it is healthy: the very commands that a person would type. */
export async function runDemo(home: Home, terminal: Terminal): Promise<ExitCode> {
  const file = fileURLToPath(new URL('../examples/demo.yaml', import.meta.url));
  const environment = { ...terminal.environment, MOORING_HOME: home.folder };
  terminal.out(`\nThe demo, with the server and token of ${developmentFile(environment)}:\n`);

  const server = home.development.read()?.server ?? '';
  const own: Terminal = { ...terminal, environment };
  for (const words of [
    ['apply', '-f', file],
    ['status', 'demo', '--until-ready', '--timeout', PATIENCE],
  ]) {
    terminal.out(`$ moor ${words.join(' ').replace(file, 'examples/demo.yaml')}\n`);
    const code = await run(['--server', server, ...words], own);
    if (code !== 0) return code;
  }
  return 0;
}
