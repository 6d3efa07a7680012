import { version } from '../../version/index.js';
import { exitCode } from '../exit-code.js';
import type { Command } from '../session.js';

/** Prints the version of this command and of what it runs on. */
export const printVersion: Command<Record<never, never>> = async ({ terminal }) => {
  terminal.out(`moor ${version()} (node ${process.versions.node}, ${process.platform} ${process.arch})\n`);
  return exitCode.ok;
};
