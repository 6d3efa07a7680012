import { CommanderError } from 'commander';

import type { Kind } from '../../crds/kind/index.js';
import { BrokenAnswerFault, UnreachableFault } from '../client/index.js';
import { asError, Fault } from '../fault/index.js';
import { type ExitCode, exitCode, UsageFault, paint, type Terminal } from '../terminal/index.js';
import { stripUnprintable } from './print/text.js';
import { createProgram, toUsageExitCode } from './program.js';

/** Runs one command line to its end. Whatever happens becomes a message and an exit code. */
export async function run(argv: readonly string[], given: Terminal, kinds?: readonly Kind[]): Promise<ExitCode> {
  const terminal = guardTerminal(given);
  let code: ExitCode = exitCode.ok;
  const finished = (result: ExitCode) => {
    code = result;
  };
  const program = createProgram(terminal, finished, kinds);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return code;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return toUsageExitCode(thrown);
    return explainFault(thrown, terminal);
  }
}

/** What servers, tenants and containers wrote may be anywhere in what a command prints. */
function guardTerminal(terminal: Terminal): Terminal {
  const { live } = terminal;
  return {
    ...terminal,
    ...(live && {
      live: { draw: lines => live.draw(lines.map(line => stripUnprintable(line.replaceAll('\n', ' ')))) },
    }),
    out: text => terminal.out(stripUnprintable(text)),
    err: text => terminal.err(stripUnprintable(text)),
    confirm: question => terminal.confirm(stripUnprintable(question)),
    ask: question => terminal.ask(stripUnprintable(question)),
    askSecret: question => terminal.askSecret(stripUnprintable(question)),
  };
}

function explainFault(thrown: unknown, terminal: Terminal): ExitCode {
  if (terminal.interrupted.aborted) return exitCode.interrupted;
  const { red } = paint(terminal.colours);
  const error = asError(thrown);
  terminal.err(`${red('moor:')} ${error.message}\n`);
  if (thrown instanceof UsageFault) return exitCode.usage;
  if (thrown instanceof UnreachableFault) {
    terminal.err('      Is it running? "moor up" starts everything on this machine.\n');
    return exitCode.unreachable;
  }
  if (thrown instanceof BrokenAnswerFault) return exitCode.unreachable;
  if (thrown instanceof Fault) return exitCode.usage;
  terminal.err(`${error.stack ?? ''}\n`);
  return exitCode.unexpected;
}
