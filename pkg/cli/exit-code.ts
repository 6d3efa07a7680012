import { Fault } from '../fault/index.js';

/** The exit codes, for scripts. Their meanings never change. */
export const exitCode = {
  ok: 0,
  /** The server refused the request, or what was waited for failed. */
  refused: 1,
  /** The command line, or a file it names, cannot be understood. */
  usage: 2,
  notFound: 3,
  /** No server could be reached, or it cannot serve right now. */
  unreachable: 4,
  timedOut: 5,
  /** No token, a token that is not valid, or one that may not do this. */
  notAllowed: 6,
  /** A bug in moor. */
  unexpected: 70,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

/** One line for each code, for `--help` and the documentation. */
export const exitCodeMeanings: readonly (readonly [ExitCode, string])[] = [
  [exitCode.ok, 'done'],
  [exitCode.refused, 'refused by the server, or what was waited for failed'],
  [exitCode.usage, 'the command line or a file cannot be understood'],
  [exitCode.notFound, 'there is no such object'],
  [exitCode.unreachable, 'the server cannot be reached or cannot serve right now'],
  [exitCode.timedOut, 'the time given with --timeout ran out'],
  [exitCode.notAllowed, 'the token is missing, invalid, or may not do this'],
  [exitCode.unexpected, 'a bug in moor'],
  [exitCode.interrupted, 'interrupted'],
];

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
