import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { type ExitCode, exitCode, type Terminal } from '../pkg/terminal/index.js';
import { run } from '../pkg/cli/index.js';
import { clone } from '../pkg/version/index.js';
import type { Home } from './home/home.js';
import { USUAL_REGISTRY } from './parts/services.js';
import { nameMoor } from './home/wording.js';

const PATIENCE = '120s';

/** Declares the demo deployment and waits until it is healthy: the very commands that a person would type. */
export async function runDemo(home: Home, terminal: Terminal): Promise<ExitCode> {
  const file = findExampleFile(home, 'demo.yaml');
  const server = home.development.read()?.server ?? '';
  const own: Terminal = { ...terminal, environment: { ...terminal.environment, MOORING_HOME: home.folder } };
  for (const words of [
    ['apply', '-f', file],
    ['status', 'demo', '--until-ready', '--timeout', PATIENCE],
  ]) {
    terminal.out(`\n$ ${nameMoor(process.env)} ${words.join(' ')}\n`);
    const code = await run(['--server', server, ...words], own);
    if (code !== exitCode.ok) return code;
  }
  return exitCode.ok;
}

/**
 * The path of an example that works here, as a person would type it in the clone.
 *
 * The examples name the usual address of the registry. Where that port was taken, a copy names the one in use.
 */
export function findExampleFile(home: Home, name: string): string {
  const original = join(clone, 'examples', name);
  const registry = home.records.read('registry')?.facts['registry'] ?? USUAL_REGISTRY;
  if (registry === USUAL_REGISTRY) return toTypedPath(original);

  const copy = home.path('examples', name);
  mkdirSync(dirname(copy), { recursive: true });
  writeFileSync(copy, readFileSync(original, 'utf8').replaceAll(USUAL_REGISTRY, registry));
  return toTypedPath(copy);
}

/** A path as a person here would type it. */
function toTypedPath(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith('..') ? path : near;
}
