import { Fault } from '../fault/index.js';

/** The exit codes, for scripts, each with its meaning for `--help`. They never change. */
export const exitCodes = {
  ok: [0, 'done'],
  refused: [1, 'refused by the server, or what was waited for failed'],
  usage: [2, 'the command line or a file cannot be understood'],
  notFound: [3, 'there is no such object'],
  unreachable: [4, 'the server cannot be reached or cannot serve right now'],
  timedOut: [5, 'the time given with --timeout ran out'],
  notAllowed: [6, 'the token is missing, invalid, or may not do this'],
  unexpected: [70, 'a bug in moor'],
  interrupted: [130, 'interrupted'],
} as const;

type ExitCodes = { readonly [Name in keyof typeof exitCodes]: (typeof exitCodes)[Name][0] };

export type ExitCode = ExitCodes[keyof ExitCodes];
export const exitCode = Object.fromEntries(
  Object.entries(exitCodes).map(([name, [code]]) => [name, code]),
) as unknown as ExitCodes;

/** The exit code of a container that a command has waited for: it is passed on as it is, whatever it means there. */
export function passExitCode(code: number): ExitCode {
  return code as ExitCode;
}

/** One line for each code and its meaning. */
export const exitCodeHelp = Object.values(exitCodes)
  .map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}\n`)
  .join('');

/** The exit code for an HTTP status that is not a success. */
export function toExitCode(status: number): ExitCode {
  if (status === 401 || status === 403) return exitCode.notAllowed;
  if (status === 404) return exitCode.notFound;
  if (status === 429 || status >= 500) return exitCode.unreachable;
  return exitCode.refused;
}

/** The user can fix this: the message says what is wrong and what to do. */
export class UsageFault extends Fault {
  readonly retriable = false;
}
