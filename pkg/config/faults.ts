import { Fault } from '../fault/index.js';

/** The configuration says something that cannot be used. Names the setting and where it was read. */
export class InvalidSettingFault extends Fault {
  readonly retriable = false;
}

/** What a process exits with that could not start: 2 when what it was told makes no sense, 1 otherwise. */
export function exitCodeOfStart(thrown: unknown): 1 | 2 {
  return thrown instanceof InvalidSettingFault ? 2 : 1;
}
