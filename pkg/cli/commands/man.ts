import type { Command as Commander } from 'commander';

import { readProductVersion } from '../../version/index.js';
import { exitCode } from '../../terminal/index.js';
import { renderManual } from '../manual.js';
import type { Command } from '../session.js';

/** Prints the manual page. It is made from the command line itself, so the two cannot differ. */
export const man: Command<{ readonly program: Commander }> = async ({ terminal, kinds }, { program }) => {
  terminal.out(renderManual(program, readProductVersion(), kinds));
  return exitCode.ok;
};
