import { Fault } from '../fault/index.js';

/** The configuration says something that cannot be used. Names the setting and where it was read. */
export class InvalidSettingFault extends Fault {
  readonly retriable = false;
}
