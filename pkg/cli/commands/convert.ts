import { stringify } from 'yaml';

import { convertCompose } from '../convert/compose.js';
import { readManifests } from '../documents.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { stripControls } from '../print/text.js';
import type { Command } from '../session.js';

/** Prints the deployments of a compose file, and says on standard error what is not carried over. It asks no server. */
export const convert: Command<{ readonly file: string }> = async ({ terminal, ink }, { file }) => {
  const [manifest] = await readManifests(file, terminal);
  const conversion = convertCompose(manifest!.value);
  if (!conversion) throw new UsageFault(`${file}: has no "services": only compose files can be converted.`);
  const { documents, notes } = conversion;
  terminal.out(documents.map(document => stringify(document)).join('---\n'));
  for (const { field, message } of notes)
    terminal.err(`${ink.bold(stripControls(field))}: ${stripControls(message)}\n`);
  if (documents.length === 0) {
    terminal.err('moor: nothing could be converted.\n');
    return exitCode.refused;
  }
  terminal.err(`${ink.dim('Next: moor apply -f FILE --dry-run, which says what else is refused')}\n`);
  return exitCode.ok;
};
