import { join, resolve } from 'node:path';

import { clone } from '../version/index.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the all-in-one keeps everything: `MOORING_HOME`, or `.mooring` in the clone. */
export function homeFolder(environment: Environment): string {
  return resolve(environment['MOORING_HOME'] || join(clone, '.mooring'));
}

/**
 * Names the development server and its tokens, for commands run on this machine: `{server, tokens: {tenant,
 * platform}}`. Written by `moor up`, mode 0600.
 */
export function developmentFile(environment: Environment): string {
  return join(homeFolder(environment), 'dev.json');
}

/** The log of one process of the all-in-one. */
export function logFile(environment: Environment, name: string): string {
  return join(homeFolder(environment), 'logs', `${name}.log`);
}
