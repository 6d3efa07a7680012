import { getEntry, type ExampleRequest, isRejectionCode } from '../../../crds/rejections/index.js';
import { exitCode } from '../exit-code.js';
import { UsageFault } from '../faults.js';
import { documentText } from '../print/document.js';
import type { Command } from '../session.js';

/** Says what a rejection code means, from the catalogue that this release has: no server is asked. */
export const explain: Command<{ readonly code: string }> = async ({ terminal, ink }, { code }) => {
  if (!isRejectionCode(code)) throw new UsageFault(`there is no code "${code}". A server lists all under /docs/codes.`);
  const { status, expected, why, remedy, example, fixed, sample } = getEntry(code);
  const rows: readonly (readonly [string, string])[] = [
    ['status', String(typeof status === 'function' ? status(sample) : status)],
    ['accepted', typeof expected === 'function' ? expected(sample) : expected],
    ['why', why],
    ['to do', remedy],
  ];
  terminal.out(`${ink.bold(code)}\n`);
  for (const [name, text] of rows) terminal.out(`  ${ink.dim(name.padEnd(9))} ${text}\n`);
  terminal.out(
    `\n${ink.red('earns it:')}\n${await indented(example)}\n${ink.green('mended:')}\n${await indented(fixed)}`,
  );
  return exitCode.ok;
};

async function indented(example: ExampleRequest): Promise<string> {
  const text = typeof example === 'string' ? `${example}\n` : await documentText(example, 'yaml');
  return text.replaceAll(/^(?=.)/gm, '  ');
}
